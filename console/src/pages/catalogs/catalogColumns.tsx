import type { CatalogRow } from "../../../../pkg/consoleapi/live.ts";
import type { DataColumn } from "../../components/DataTable.tsx";
import { RelativeTime } from "../../components/RelativeTime.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { catalogsText } from "../../text/catalogs.ts";

const { columns: t } = catalogsText;
const DIGEST_LENGTH = 12;
const SEVERITY_ORDER = { error: 0, warning: 1, info: 2 } as const;

/** The columns of the list of catalogs. */
export const catalogColumns: readonly DataColumn<CatalogRow>[] = [
  { id: "name", label: t.name, sortValue: ({ name }) => name, cell: ({ name }) => name, minWidth: "8rem" },
  {
    id: "state",
    label: t.state,
    sortValue: ({ attention, state }) => `${attention ? SEVERITY_ORDER[attention.severity] : 3} ${state.text}`,
    cell: ({ state }) => <StateLabel state={state} isCompact />,
  },
  {
    id: "attention",
    label: t.attention,
    minWidth: "14rem",
    cell: ({ attention }) =>
      attention && (
        <span className="olm-break olm-catalog-sentence" dir="auto" title={attention.sentence}>
          {attention.sentence}
        </span>
      ),
  },
  {
    id: "priority",
    label: t.priority,
    sortValue: ({ priority }) => priority,
    isDescendingFirst: true,
    cell: ({ priority }) => priority,
  },
  {
    id: "image",
    label: t.image,
    sortValue: ({ image }) => image,
    cell: ({ image }) => (
      <bdi className="olm-one-line" title={image}>
        {image}
      </bdi>
    ),
  },
  {
    id: "digest",
    label: t.digest,
    cell: ({ digest }) => digest !== undefined && <code title={digest}>{shortenDigest(digest)}</code>,
  },
  {
    id: "findings",
    label: t.findings,
    sortValue: ({ findings }) => findings,
    isDescendingFirst: true,
    cell: ({ findings }) => findings > 0 && findings,
  },
  {
    id: "unpacked",
    label: t.unpacked,
    sortValue: ({ unpacked }) => unpacked,
    isDescendingFirst: true,
    cell: ({ unpacked }) => (unpacked === undefined ? catalogsText.notLoaded : <RelativeTime time={unpacked} />),
  },
  {
    id: "age",
    label: t.age,
    sortValue: ({ created }) => created,
    isDescendingFirst: true,
    cell: ({ created }) => <RelativeTime time={created} />,
  },
];

/** The columns that are shown. */
export const STANDARD_COLUMNS: readonly string[] = ["name", "state", "attention", "priority", "digest", "unpacked"];

function shortenDigest(digest: string): string {
  return digest.slice(digest.indexOf(":") + 1).slice(0, DIGEST_LENGTH);
}
