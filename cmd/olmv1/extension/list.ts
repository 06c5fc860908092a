import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { CLUSTER_EXTENSION, GROUP } from "../../../pkg/api/constants.ts";
import type { ClusterOptions } from "../cli/clusterOptions.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { apisOf, apisText } from "./apis.ts";
import { isOutdated } from "./extensionState.ts";
import { listText } from "./listText.ts";
import { extensionsOf, readExtension } from "./readExtension.ts";

/** How `olmv1 list` can be asked. */
export interface ListOptions extends ClusterOptions {
  outdated?: boolean;
  apis?: boolean;
  namespace?: string;
  output: Output;
}

/** `olmv1 list`. */
export async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  if (options.namespace !== undefined && !options.apis)
    throw new Error("--namespace says where the rights of --apis are looked at; extensions have none");
  await withCluster(options, async (client) => {
    const all = await extensionsOf(client);
    const extensions = options.outdated ? all.filter(isOutdated) : all;
    if (options.apis) {
      const apis = await apisOf(client, extensions, options.namespace);
      const names = (): string[] => apis.map(({ kind, group }) => `${kind}.${group}`);
      return print(terminal, options.output, { data: apis, text: () => apisText(terminal, apis, options.namespace), names });
    }
    if (extensions.length === 0)
      terminal.err(options.outdated ? "no extension is outdated\n" : "no extension is installed; olmv1 install PACKAGE installs one\n");
    const text = (isWide: boolean) => () => (extensions.length === 0 ? "" : listText(terminal, extensions, Date.now(), isWide));
    return print(terminal, options.output, {
      data: { apiVersion: "v1", kind: "List", items: extensions },
      text: text(false),
      wide: text(true),
      names: () => extensions.map(nameOf),
    });
  });
}

/** `olmv1 get`. */
export async function get(terminal: Terminal, name: string, options: ClusterOptions & { output: Output }): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const text = (isWide: boolean) => () => listText(terminal, [extension], Date.now(), isWide);
    await print(terminal, options.output, { data: extension, text: text(false), wide: text(true), names: () => [nameOf(extension)] });
  });
}

/** As kubectl names objects: clusterextension.olm.operatorframework.io/NAME. */
export function nameOf({ metadata }: Pick<ClusterExtension, "metadata">): string {
  return `${CLUSTER_EXTENSION.toLowerCase()}.${GROUP}/${metadata.name}`;
}
