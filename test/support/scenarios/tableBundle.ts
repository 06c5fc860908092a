import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import type { TableBundle } from "../../../pkg/conformance/catalogTable.ts";
import { buildTableBundle } from "../../../pkg/conformance/tableBundle.ts";
import { renderBundle } from "../../../pkg/render/render.ts";

/** Renders a bundle for a namespace; undefined if the bundle rejects the configuration. */
export function tableBundleObjects(bundle: TableBundle, namespace: string, config: JsonObject | undefined): KubeObject[] | undefined {
  try {
    return renderBundle(loadBundle(buildTableBundle(bundle)), { installNamespace: namespace, config });
  } catch {
    return undefined;
  }
}
