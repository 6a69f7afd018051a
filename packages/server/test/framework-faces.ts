/**
 * The runtime's faces behind web frameworks, mounted as `examples/` mounts them; and what of the
 * acceptance suite is run with them.
 */

import type { AcceptanceSettings, Face } from "@holdfast/testkit/face-acceptance";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { type Fetch, fetchListener } from "./fetch-face.ts";
import { serveRuntime } from "./node-face.ts";

/** All of it by `npm run faces`; what takes longest says most about the runtime, least of a face. */
export const frameworkSettings: AcceptanceSettings =
  process.env["HOLDFAST_FACES"] === "all" ? {} : { except: ["fuzz", "races", "bounds"] };

export const expressFace: Face = {
  name: "Express",
  serve: (parts) => serveRuntime(parts, ({ node }) => express().use(node)),
};

export const fastifyFace: Face = {
  name: "Fastify",
  serve: (parts) =>
    serveRuntime(parts, ({ node }) => {
      const app = fastify();
      // Before any parser: the body's size, type and bytes are the runtime's to judge.
      app.addHook("onRequest", async (request, reply) => {
        reply.hijack();
        node(request.raw, reply.raw);
      });
      return (req, res) => void app.ready().then(() => app.routing(req, res));
    }),
};

/** In a host in the fetch style. */
export const honoFace: Face = {
  name: "Hono",
  serve: (parts) => serveRuntime(parts, ({ fetch }) => fetchListener(honoApp(fetch).fetch)),
};

/** On Node, by Hono's own adapter, which refuses odd Hosts and URLs by itself, without a body. */
export const honoNodeFace: Face = {
  name: "Hono on Node",
  serve: (parts) => serveRuntime(parts, ({ fetch }) => getRequestListener(honoApp(fetch).fetch)),
};

function honoApp(fetch: Fetch): Hono {
  return new Hono().all("*", (context) => fetch(context.req.raw));
}
