import "./clusterUpgrade.css";
import { Button, Form, FormGroup, FormHelperText, HelperText, HelperTextItem, TextInput, Title } from "@patternfly/react-core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactElement, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { ClusterUpgrade, type UpgradeRow } from "../../../../pkg/consoleapi/clusterUpgrade.ts";
import { getJson } from "../../api/request.ts";
import { PageTitle } from "../../app/PageTitle.tsx";
import { CommandLine } from "../../components/CommandLine.tsx";
import { type DataColumn, DataTable } from "../../components/DataTable.tsx";
import { PageSection } from "../../components/PageSection.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { clusterUpgradeText } from "../../text/clusterUpgrade.ts";

const t = clusterUpgradeText;

/** What blocks the next minor version of OpenShift, and what lifts it. */
export default function ClusterUpgradePage(): ReactElement {
  const [params, setParams] = useSearchParams();
  const to = params.get("to") ?? "";
  const query = useQuery({
    queryKey: ["extensions", "cluster-upgrade", to],
    queryFn: ({ signal }) => getJson(`/api/cluster-upgrade${to === "" ? "" : `?${new URLSearchParams({ to })}`}`, ClusterUpgrade, signal),
    placeholderData: keepPreviousData,
  });
  return (
    <PageSection className="olm-page">
      <PageTitle title={t.title} />
      <header className="olm-page-header">
        <Title headingLevel="h1">{t.title}</Title>
        <p className="olm-subtle">{t.intro}</p>
      </header>
      <TargetForm
        key={to}
        to={to}
        isOpenShift={query.data?.cluster.kind === "known"}
        onCheck={(target) => setParams(target === "" ? {} : { to: target })}
      />
      <QueryView query={query} lines={8}>
        {(upgrade) => <Answer upgrade={upgrade} />}
      </QueryView>
    </PageSection>
  );
}

function TargetForm({
  to,
  isOpenShift,
  onCheck,
}: {
  readonly to: string;
  readonly isOpenShift: boolean;
  readonly onCheck: (to: string) => void;
}): ReactElement {
  const [target, setTarget] = useState(to);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onCheck(target.trim());
  };
  return (
    <Form onSubmit={submit} className="olm-upgrade-form">
      <FormGroup label={t.target} fieldId="olm-target">
        <div className="olm-upgrade-input">
          <TextInput
            id="olm-target"
            value={target}
            maxLength={64}
            aria-describedby="olm-target-help"
            onChange={(_event, value) => setTarget(value)}
          />
          <Button type="submit" variant="secondary">
            {t.check}
          </Button>
        </div>
        <FormHelperText>
          <HelperText id="olm-target-help">
            <HelperTextItem>{isOpenShift ? t.targetHelp : t.targetHelpPlain}</HelperTextItem>
          </HelperText>
        </FormHelperText>
      </FormGroup>
    </Form>
  );
}

function Answer({ upgrade: { cluster, check } }: { readonly upgrade: ClusterUpgrade }): ReactElement {
  return (
    <>
      <p className="olm-break" dir="auto">
        {cluster.sentence}
      </p>
      {check ? <Check check={check} /> : <p className="olm-subtle">{t.enterTarget}</p>}
    </>
  );
}

function Check({
  check: { state, sentence, rows, remedies, command },
}: {
  readonly check: NonNullable<ClusterUpgrade["check"]>;
}): ReactElement {
  return (
    <>
      <p className="olm-upgrade-verdict olm-break">
        <StateLabel state={state} />
        <strong>{sentence}</strong>
      </p>
      {remedies.length > 0 && (
        <section className="olm-section" aria-label={t.remedies}>
          <Title headingLevel="h2">{t.remedies}</Title>
          <ul className="olm-list">
            {remedies.map(({ extension, text }) => (
              <li key={extension} className="olm-list-item">
                <div className="olm-list-body">
                  <span className="olm-list-title olm-break">
                    <Link to={`/extensions/${extension}/why`}>{extension}</Link>
                  </span>
                  <p className="olm-break" dir="auto">
                    {text}
                  </p>
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section className="olm-section" aria-label={t.extensions}>
        <Title headingLevel="h2">{t.extensions}</Title>
        <UpgradeTable rows={rows} />
        <div>
          <p className="olm-subtle">{t.command}</p>
          <CommandLine command={command} label={t.command} />
        </div>
      </section>
    </>
  );
}

/** A row with its position in the order of the server. */
interface RankedRow {
  readonly rank: number;
  readonly row: UpgradeRow;
}

const VISIBLE: ReadonlySet<string> = new Set(["state", "maximum", "version", "bundle", "message"]);
const COLUMNS: readonly DataColumn<RankedRow>[] = [
  {
    id: "extension",
    label: t.columns.extension,
    minWidth: "9rem",
    sortValue: ({ row }) => row.extension,
    cell: ({ row }) => row.extension,
  },
  {
    id: "state",
    label: t.columns.state,
    minWidth: "10rem",
    sortValue: ({ rank }) => rank,
    cell: ({ row }) => <StateLabel state={row.state} />,
  },
  { id: "maximum", minWidth: "7rem", label: t.columns.maximum, sortValue: ({ row }) => row.maximum, cell: ({ row }) => row.maximum },
  { id: "version", label: t.columns.version, cell: ({ row }) => <bdi className="olm-break">{row.version}</bdi> },
  { id: "bundle", label: t.columns.bundle, minWidth: "10rem", cell: ({ row }) => <bdi className="olm-break">{row.bundle}</bdi> },
  { id: "message", label: t.columns.message, cell: ({ row }) => <bdi className="olm-break">{row.message}</bdi> },
];

function UpgradeTable({ rows }: { readonly rows: readonly UpgradeRow[] }): ReactElement {
  const [sort, setSort] = useState({ column: "state", isDescending: false });
  const ranked = useMemo(() => rows.map((row, rank) => ({ row, rank })), [rows]);
  return (
    <DataTable
      label={t.label}
      columns={COLUMNS}
      visible={VISIBLE}
      rows={ranked}
      getId={({ rank }) => String(rank)}
      getPath={({ row }) => `/extensions/${row.extension}/why`}
      sort={sort}
      onSort={setSort}
      empty={<p className="olm-subtle">{t.none}</p>}
    />
  );
}
