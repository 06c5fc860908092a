import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { Plan } from "../../../pkg/api/clusterExtensionStatus.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import type { Terminal } from "../cli/terminal.ts";
import { wrapped } from "../cli/wrapped.ts";

type PlannedObject = NonNullable<Plan["objects"]>[number];

const MARKS = { Create: "+", Update: "~", Delete: "-", Unchanged: " " } as const;

/** What waits for approval, and the command that approves it. */
export function approvalText(screen: Pick<Terminal, "width">, extension: ClusterExtension): string {
  const { name } = extension.metadata;
  return `${planSummary(screen, extension)}\nit goes on once that is approved: olmv1 approve ${name}\n`;
}

/** What waits for approval: the bundle, counts, and the objects that status.plan names. */
export function planSummary(screen: Pick<Terminal, "width">, { metadata, status }: ClusterExtension): string {
  const { plan } = status ?? {};
  if (!plan) return `ClusterExtension ${metadata.name}: nothing waits for approval`;
  const now = status?.install ? `${status.install.bundle.name} is installed` : "nothing is installed";
  const objects = plan.objects ?? [];
  const more = plan.create + plan.update + plan.delete - objects.length;
  return [
    `ClusterExtension ${metadata.name}: ${now}, ${plan.bundle.name} (version ${plan.bundle.version}) waits for approval`,
    `${plan.create} to create, ${plan.update} to update, ${plan.delete} to delete, ${plan.unchanged} unchanged`,
    ...objects.flatMap((object) => objectLines(screen, object)),
    ...(more > 0 ? [`  … and ${more} more`] : []),
    `digest: ${plan.digest}`,
  ].join("\n");
}

function objectLines(screen: Pick<Terminal, "width">, object: PlannedObject): string[] {
  const { action, kind, name, namespace, fields = [], widens } = object;
  const what = describeObject({ apiVersion: "", kind, name, namespace });
  return [
    `  ${MARKS[action]} ${escapeControlCharacters(what)}${widens ? "  (widens rights)" : ""}`,
    ...(fields.length > 0 ? wrapped(escapeControlCharacters(fields.join(", ")), screen.width, "      ") : []),
  ];
}
