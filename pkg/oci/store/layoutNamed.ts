import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type LayoutPlace, layoutPlace } from "./imagePlace.ts";

/** The place in a layout that a text names: `oci:…`, `oci-archive:…`, or a folder that is a layout. @returns undefined for what is none */
export async function layoutNamed(text: string): Promise<LayoutPlace | undefined> {
  const place = layoutPlace(text);
  if (place) return place;
  const isLayout = (await stat(join(text, "oci-layout")).catch(() => undefined))?.isFile() ?? false;
  return isLayout ? { kind: "oci", path: text, tag: "" } : undefined;
}
