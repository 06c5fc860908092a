import { EXTENSION_PERMISSIONS, GROUP } from "../../../../pkg/api/constants.ts";
import type { ExtensionPermissions, ExtensionPermissionsStatus } from "../../../../pkg/api/extensionPermissions.ts";
import { formatAge } from "../../../../pkg/golang/time.ts";
import { listExtensionPermissions } from "../../../../pkg/rollout/extensionPermissions.ts";
import { describePermissionsState } from "../../../../pkg/rollout/permissionsView.ts";
import { withCluster } from "../../cli/cluster.ts";
import { measureWidth } from "../../cli/columns.ts";
import type { ClusterOptions } from "../../cli/options.ts";
import { type ObjectOutputOptions, print, toPrintableObject } from "../../cli/output.ts";
import { type Cell, formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";

type PermissionState = NonNullable<ExtensionPermissionsStatus["state"]>;

const HEAD = ["NAME", "STATE", "POLICY", "RULES", "BROAD", "NAMESPACE", "ACCESS", "AGE"];

/** Columns to omit on a narrow terminal, in this order, so that names are not truncated. */
const OPTIONAL = ["NAMESPACE", "ACCESS"];

/** Options of `olmv1 permissions list`. */
export interface ListPermissionsOptions extends ClusterOptions, ObjectOutputOptions {
  state?: PermissionState;
}

/** Runs `olmv1 permissions list`. */
export async function listPermissions(terminal: Terminal, options: ListPermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const all = await listExtensionPermissions(client);
    const found = options.state === undefined ? all : all.filter(({ status }) => status?.state === options.state);
    if (found.length === 0)
      terminal.err(
        all.length === 0
          ? "no ExtensionPermissions; permission-manager manages extensions without spec.serviceAccount\n"
          : `no ExtensionPermissions in state ${options.state}\n`,
      );
    await print(terminal, options.output, {
      data: { apiVersion: "v1", kind: "List", items: found.map((one) => toPrintableObject(one, options)) },
      text: () => (found.length === 0 ? "" : formatPermissionsTable(terminal, found, Date.now())),
      names: () => found.map(({ metadata }) => `${EXTENSION_PERMISSIONS.kind.toLowerCase()}.${GROUP}/${metadata.name}`),
    });
  });
}

/** Formats ExtensionPermissions as a table. @param now milliseconds since the epoch */
export function formatPermissionsTable(
  terminal: Pick<Terminal, "width" | "colour">,
  found: readonly ExtensionPermissions[],
  now: number,
): string {
  const rows = found.map(({ metadata, status = {} }): Cell[] => [
    metadata.name,
    describePermissionsState(status),
    status.policy ?? "",
    String(status.ruleCount ?? ""),
    String(status.broadCount ?? ""),
    status.namespace ?? "",
    status.access ?? "",
    formatAge(metadata.creationTimestamp, now),
  ]);
  const texts = OPTIONAL.map((_, count) => without(OPTIONAL.slice(0, count), rows));
  const fits = ({ head, cells }: Columns): boolean => {
    const lines = formatTable({ width: Number.POSITIVE_INFINITY, colour: false }, head, cells).split("\n");
    return lines.every((line) => measureWidth(line) <= terminal.width);
  };
  const { head, cells } = texts.find(fits) ?? without(OPTIONAL, rows);
  return formatTable(terminal, head, cells);
}

interface Columns {
  readonly head: readonly string[];
  readonly cells: readonly (readonly Cell[])[];
}

function without(omitted: readonly string[], rows: readonly (readonly Cell[])[]): Columns {
  const isShown = (_: unknown, i: number): boolean => !omitted.includes(HEAD[i] ?? "");
  return { head: HEAD.filter(isShown), cells: rows.map((row) => row.filter(isShown)) };
}
