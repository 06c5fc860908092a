/** The name that a catalog gets from its folder's or repository's name, as far as names of catalogs allow it. */
export function catalogNameFor(source: string): string {
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
