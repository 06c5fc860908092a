/** What is looked at in registries, and only where that is asked for. Codes are stable: scripts rely on them. */
export const IMAGE_CHECKS = {
  "image-missing": {
    severity: "error",
    rule: "The images of bundles, and related ones, are in their registries.",
    source: "CI of catalogs",
  },
  "image-unchecked": { severity: "warning", rule: "Registries can be asked for the images.", source: "CI of catalogs" },
} as const;
