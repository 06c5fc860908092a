import type { GroupVersionKind, JsonObject } from "../api/k8s.ts";
import { installModes } from "../bundle/installModes.ts";
import type { InstallModeType, RegistryV1Bundle } from "../bundle/types.ts";
import { messageOf } from "../errors/errors.ts";
import { knownResource } from "../rbac/resources.ts";
import { prepareObjects } from "../release/prepare.ts";
import type { Adjusted } from "../release/workloads.ts";
import { CERTIFICATE_PROVIDERS } from "../render/providers.ts";
import { renderBundle } from "../render/render.ts";

/** What a bundle is rendered to for one way of installing it. */
export interface Rendering {
  /** How it is installed, such as `install mode OwnNamespace, certificates of cert-manager`. */
  readonly way: string;
  /** The objects as they are applied and what was dropped of them, or why there are none. */
  readonly result: Adjusted | Error;
}

const NAMESPACE = "operator-namespace";
/** The configuration that asks for an install mode. */
const CONFIG: Readonly<Record<InstallModeType, JsonObject | undefined>> = {
  AllNamespaces: undefined,
  MultiNamespace: { watchNamespaces: ["watched-namespace", "another-namespace"] },
  OwnNamespace: { watchNamespace: NAMESPACE },
  SingleNamespace: { watchNamespace: "watched-namespace" },
};

/** The bundle for each install mode that it supports, with each certificate provider where it serves webhooks or APIs. */
export function renderingsOf(bundle: RegistryV1Bundle): Rendering[] {
  const supported = installModes(bundle.csv);
  const modes = Object.entries(CONFIG).filter(([mode]) => supported.has(mode));
  const { webhookdefinitions = [], apiservicedefinitions } = bundle.csv.spec;
  const isServing = webhookdefinitions.length + (apiservicedefinitions.owned ?? []).length > 0;
  const providers = isServing ? CERTIFICATE_PROVIDERS : [undefined];
  return (modes.length > 0 ? modes : [["none that is known", undefined] as const]).flatMap(([mode, config]) =>
    providers.map((certProvider): Rendering => {
      const way = `install mode ${mode}${certProvider ? `, certificates of ${certProvider.name}` : ""}`;
      try {
        const objects = renderBundle(bundle, { installNamespace: NAMESPACE, config, certProvider });
        return { way, result: prepareObjects(objects, { installNamespace: NAMESPACE, isNamespaced }) };
      } catch (err) {
        return { way, result: err instanceof Error ? err : new Error(messageOf(err)) };
      }
    }),
  );
}

function isNamespaced(gvk: GroupVersionKind): boolean | undefined {
  return knownResource(gvk)?.namespaced;
}
