/** What a bundle may be given as, for help. */
export const BUNDLE_SOURCE =
  "bundle folder (manifests/ and metadata/) or bundle image, in a registry, or in a layout as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]";
