/** What the everything server shows, plays and keeps. */

/** A PNG of one red pixel. */
export const redPixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** A WAV of no samples. */
export const blueWave = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA=";

export const staticResource = {
  uri: "test://static-text",
  mimeType: "text/plain",
  text: "This is the content of the static text resource.",
};

export const binaryResource = {
  uri: "test://static-binary",
  mimeType: "image/png",
  blob: redPixel,
};

export const watchedResource = {
  uri: "test://watched-resource",
  mimeType: "text/plain",
  text: "Somebody watches this.",
};
