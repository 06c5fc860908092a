import type { KubeObject } from "../api/k8s.ts";
import { type BundleSummary, summarizeBundle } from "../bundle/bundleSummary.ts";
import type { RegistryV1Bundle } from "../bundle/types.ts";
import { type RenderOptions, renderBundle } from "../render/render.ts";

/** A bundle as the controller uses it, in whichever thread its manifests are. */
export interface BundleContent extends BundleSummary {
  /**
   * Renders the objects of the bundle. They may be shared with other callers: treat them as read-only.
   * @throws as `renderBundle`.
   */
  render(options: RenderOptions): Promise<readonly KubeObject[]>;
}

/** Returns the content of a bundle that is loaded in this thread. */
export function contentOf(bundle: RegistryV1Bundle): BundleContent {
  return {
    ...summarizeBundle(bundle),
    // A promise also for what cannot be rendered.
    render: (options) => new Promise((resolve) => resolve(renderBundle(bundle, options))),
  };
}
