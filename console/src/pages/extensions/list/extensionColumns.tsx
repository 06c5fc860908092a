import type { ReactElement } from "react";
import type { ExtensionRow } from "../../../../../pkg/consoleapi/live.ts";
import type { DataColumn } from "../../../components/DataTable.tsx";
import { Label } from "../../../components/Label.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { extensionListText } from "../../../text/extensionList.ts";

const t = extensionListText.columns;
const SEVERITY_ORDER = { error: 0, warning: 1, info: 2 } as const;
/** Problems that a cell shows; the tooltip has all. */
const SHOWN_PROBLEMS = 1;

/** All columns of the list of extensions. */
export const extensionColumns: readonly DataColumn<ExtensionRow>[] = [
  { id: "name", label: t.name, sortValue: ({ name }) => name, cell: ({ name }) => name, minWidth: "7rem" },
  { id: "state", label: t.state, sortValue: readStateOrder, cell: ({ state }) => <StateLabel state={state} isCompact /> },
  { id: "problems", label: t.problems, sortValue: readProblemOrder, isDescendingFirst: true, cell: (row) => <Problems row={row} /> },
  { id: "version", label: t.version, sortValue: ({ version }) => version, cell: ({ version }) => <Text value={version} /> },
  { id: "update", label: t.update, sortValue: readUpdate, cell: ({ update }) => <Update update={update} /> },
  {
    id: "support",
    label: t.support,
    sortValue: ({ support }) => support?.text,
    cell: ({ support }) => support && <StateLabel state={support} isCompact />,
  },
  { id: "package", label: t.package, sortValue: (row) => row.package, cell: (row) => <Text value={row.package} /> },
  { id: "catalog", label: t.catalog, sortValue: ({ catalog }) => catalog, cell: ({ catalog }) => <Text value={catalog} /> },
  { id: "namespace", label: t.namespace, sortValue: ({ namespace }) => namespace, cell: ({ namespace }) => <Text value={namespace} /> },
  { id: "channels", label: t.channels, sortValue: readChannels, cell: (row) => <Text value={readChannels(row)} /> },
  { id: "range", label: t.range, sortValue: ({ range }) => range, cell: ({ range }) => <Text value={range} /> },
  { id: "approval", label: t.approval, sortValue: ({ approval }) => approval, cell: ({ approval }) => <Text value={approval} /> },
  { id: "holds", label: t.holds, sortValue: readHolds, cell: (row) => <Text value={readHolds(row)} /> },
  {
    id: "account",
    label: t.account,
    sortValue: ({ serviceAccount }) => serviceAccount,
    cell: ({ serviceAccount }) => <Text value={serviceAccount} />,
  },
  {
    id: "changed",
    label: t.changed,
    sortValue: ({ changed }) => changed,
    isDescendingFirst: true,
    cell: ({ changed }) => changed !== undefined && <RelativeTime time={changed} />,
  },
  {
    id: "age",
    label: t.age,
    sortValue: ({ created }) => created,
    isDescendingFirst: true,
    cell: ({ created }) => <RelativeTime time={created} />,
  },
];

/** The columns that are shown unless the user chooses others. */
export const STANDARD_COLUMNS: readonly string[] = ["name", "state", "version", "update", "package", "problems", "age"];

/** Extensions with errors first, then by state. */
function readStateOrder({ attention, state }: ExtensionRow): string {
  return `${attention ? SEVERITY_ORDER[attention.severity] : 3} ${state.text}`;
}

function readUpdate({ update }: ExtensionRow): string | undefined {
  return update.text === "" ? undefined : update.text;
}

function readProblemOrder({ problems }: ExtensionRow): number {
  return problems.length;
}

function readChannels({ channels }: ExtensionRow): string | undefined {
  return channels.length === 0 ? undefined : channels.join(", ");
}

function readHolds({ holds }: ExtensionRow): string | undefined {
  return holds.length === 0 ? undefined : holds.join(", ");
}

function Text({ value }: { readonly value: string | undefined }): ReactElement | undefined {
  return value === undefined || value === "" ? undefined : (
    <bdi className="olm-one-line" title={value}>
      {value}
    </bdi>
  );
}

function Update({ update: { text, mood } }: Pick<ExtensionRow, "update">): ReactElement | undefined {
  if (text === "") return undefined;
  return <bdi className={mood === "faint" ? "olm-one-line olm-subtle" : "olm-one-line"}>{text}</bdi>;
}

function Problems({ row: { state, problems, deprecated, plan } }: { readonly row: ExtensionRow }): ReactElement | undefined {
  const labels = [
    ...problems.filter((type) => type !== state.text),
    ...(deprecated && !problems.includes("Deprecated") ? [t.deprecated] : []),
  ];
  if (labels.length === 0 && !plan) return undefined;
  return (
    <span className="olm-labels" title={labels.join(", ")}>
      {plan && (
        <Label isCompact isOutlined>
          {t.plan(plan.installed, plan.all)}
        </Label>
      )}
      {labels.slice(0, SHOWN_PROBLEMS).map((label) => (
        <Label key={label} isCompact>
          {label}
        </Label>
      ))}
      {labels.length > SHOWN_PROBLEMS && <span className="olm-subtle">{t.more(labels.length - SHOWN_PROBLEMS)}</span>}
    </span>
  );
}
