import { resolve as absolute, basename } from "node:path";
import { layoutPlace } from "../../../pkg/oci/imagePlace.ts";

/** The name that a catalog in a folder, a file or a layout has, where none is given with it. */
export function givenName(path: string): string {
  return layoutPlace(path) ? catalogNameFor(path) : basename(absolute(path));
}

/** The name that a catalog gets from its folder's or repository's name, as far as names of catalogs allow it. */
export function catalogNameFor(source: string): string {
  const layout = layoutPlace(source);
  if (layout) return catalogNameFor(layout.tag.includes("/") ? layout.tag : layout.path.replace(/\.tar$/, ""));
  const last =
    source
      .replace(/@.*$/, "")
      .replace(/[/.]+$/, "")
      .split("/")
      .at(-1)
      ?.replace(/:.*$/, "") ?? "";
  const name = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "catalog" : name;
}
