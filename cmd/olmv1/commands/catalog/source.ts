/** What a catalog can be read from. */
export const CATALOG_SOURCE = "folder with a catalog, as it is copied into an image, or the reference of a catalog image";
