import { type ReactElement, useMemo, useState } from "react";
import { Link } from "react-router";
import type { RequirementRow } from "../../../../pkg/consoleapi/dependencies.ts";
import { type DataColumn, DataTable } from "../../components/DataTable.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { dependenciesText } from "../../text/dependencies.ts";

const t = dependenciesText.requirements;
const VISIBLE: ReadonlySet<string> = new Set(["text", "state", "providers", "why"]);

/** A requirement with its position in the order of the server. */
interface RankedRequirement {
  readonly rank: number;
  readonly one: RequirementRow;
}

const COLUMNS: readonly DataColumn<RankedRequirement>[] = [
  { id: "extension", label: t.extension, minWidth: "9rem", sortValue: ({ one }) => one.extension, cell: ({ one }) => one.extension },
  {
    id: "text",
    label: t.text,
    minWidth: "14rem",
    sortValue: ({ one }) => one.text,
    cell: ({ one }) => (
      <span className="olm-break" dir="auto">
        {one.text}
      </span>
    ),
  },
  { id: "state", label: t.state, minWidth: "9rem", sortValue: ({ rank }) => rank, cell: ({ one }) => <StateLabel state={one.state} /> },
  { id: "providers", label: t.providers, minWidth: "8rem", cell: ({ one }) => <Providers names={one.providers} /> },
  { id: "why", label: t.why, minWidth: "14rem", cell: ({ one }) => <Reasons unmet={one.unmet} /> },
];

/** All requirements; those that are not met come first. */
export function RequirementTable({ requirements }: { readonly requirements: readonly RequirementRow[] }): ReactElement {
  const [sort, setSort] = useState({ column: "state", isDescending: false });
  const rows = useMemo(() => requirements.map((one, rank) => ({ one, rank })), [requirements]);
  return (
    <DataTable
      label={t.label}
      columns={COLUMNS}
      visible={VISIBLE}
      rows={rows}
      getId={({ rank }) => String(rank)}
      getPath={({ one }) => `/extensions/${one.extension}/why`}
      sort={sort}
      onSort={setSort}
      empty={<p className="olm-subtle">{t.none}</p>}
    />
  );
}

function Providers({ names }: { readonly names: readonly string[] }): ReactElement {
  return (
    <span className="olm-dependency-names">
      {names.map((name) => (
        <Link key={name} to={`/extensions/${name}`} className="olm-break">
          {name}
        </Link>
      ))}
    </span>
  );
}

function Reasons({ unmet }: { readonly unmet: readonly string[] }): ReactElement {
  return (
    <span className="olm-dependency-names">
      {unmet.map((text) => (
        <span key={text} className="olm-break" dir="auto">
          {text}
        </span>
      ))}
    </span>
  );
}
