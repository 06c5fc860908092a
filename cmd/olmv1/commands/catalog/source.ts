/** What a catalog can be read from. */
export const CATALOG_SOURCE =
  "folder with a catalog, as it is copied into an image, or a catalog image: in a registry, or in a layout as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]";
