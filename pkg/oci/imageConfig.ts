/**
 * The configuration of an image of one layer that holds content and no programs. It has to name a platform; whoever unpacks content takes the image on any.
 * @param diffId digest of the layer before compression
 */
export function imageConfig(labels: Readonly<Record<string, string>>, diffId: string): object {
  return {
    architecture: "amd64",
    os: "linux",
    created: "1970-01-01T00:00:00Z",
    config: { Labels: Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))) },
    rootfs: { type: "layers", diff_ids: [diffId] },
  };
}
