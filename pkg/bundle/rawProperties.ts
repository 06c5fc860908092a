// The reader itself lies with the bundles, whose annotation it reads first.
export { type RawProperty, rawProperties as parseProperties } from "./properties.ts";
