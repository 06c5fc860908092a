import "./permissions.css";
import { Alert, Button, ExpandableSection } from "@patternfly/react-core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { type NeededPermissions, PermissionsComparison } from "../../../../../pkg/consoleapi/permissions.ts";
import type { RuleList } from "../../../../../pkg/consoleapi/rules.ts";
import { getJson } from "../../../api/request.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { CodeText } from "../../../components/CodeText.tsx";
import { CommandLine } from "../../../components/CommandLine.tsx";
import { Elapsed } from "../../../components/Elapsed.tsx";
import { PermissionsPreviewView } from "../../../components/PermissionsPreviewView.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { RuleListView } from "../../../components/RuleListView.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { permissionsText as t } from "../../../text/permissions.ts";
import { planText } from "../../../text/plan.ts";
import { LimitsForm } from "../LimitsForm.tsx";
import { useComputationBasis, useLimits } from "../limits.ts";

const FORM_ID = "olm-comparison-limits";

/** The permissions that the next bundle, or that of a chosen version, needs, compared with those of the installed bundle. */
export function Comparison({ name }: { readonly name: string }): ReactElement {
  const [limits, setLimits] = useLimits();
  const [isTrying, setTrying] = useState(limits.size > 0);
  const queries = useQueryClient();
  const basis = useComputationBasis(name);
  const queryKey = ["permissions", name, basis, limits.toString()];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      getJson(`/api/extensions/${encodeURIComponent(name)}/permissions/comparison?${limits}`, PermissionsComparison, signal),
    enabled: basis !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const isCancelled = basis !== undefined && query.isPending && query.fetchStatus === "idle";
  return (
    <TabSection
      title={t.comparison}
      extra={
        <Button variant="link" aria-expanded={isTrying} aria-controls={FORM_ID} onClick={() => setTrying(!isTrying)}>
          {planText.tryOther}
        </Button>
      }
    >
      <div id={FORM_ID}>{isTrying && <LimitsForm key={limits.toString()} limits={limits} onChange={setLimits} />}</div>
      {query.isPending && !isCancelled && (
        <Elapsed
          title={t.comparing}
          note={t.comparingNote}
          formatSeconds={planText.elapsed}
          cancelLabel={planText.cancel}
          onCancel={() => void queries.cancelQueries({ queryKey })}
        />
      )}
      {isCancelled && (
        <p>
          {planText.cancelled}{" "}
          <Button variant="link" isInline onClick={() => void query.refetch()}>
            {planText.again}
          </Button>
        </p>
      )}
      {!query.isPending && <QueryView query={query}>{(comparison) => <Compared comparison={comparison} />}</QueryView>}
    </TabSection>
  );
}

function Compared({ comparison: { installed, bundle, managed, own, note } }: { readonly comparison: PermissionsComparison }): ReactElement {
  const head =
    installed === undefined ? t.first(bundle.name) : installed === bundle.name ? t.same(bundle.name) : t.from(installed, bundle.name);
  return (
    <>
      <p className="olm-break">
        <bdi>{head}</bdi> <span className="olm-subtle">{planText.fromCatalog(bundle.catalog)}</span>
      </p>
      {managed && <PermissionsPreviewView preview={managed} />}
      {own && <Needed needed={own} />}
      {note !== undefined && <p>{note}</p>}
    </>
  );
}

function Needed({
  needed: { added, removed, operatorAdded, operatorRemoved, needed, unread, yaml, command },
}: {
  readonly needed: NeededPermissions;
}): ReactElement {
  return (
    <>
      {unread !== undefined && (
        <Alert isInline variant="warning" component="h4" title={t.unread}>
          <p className="olm-break">{unread}</p>
        </Alert>
      )}
      {yaml !== undefined && <Manifests yaml={yaml} />}
      {added.count + removed.count === 0 && <p>{t.unchanged}</p>}
      <Rules title={t.added} list={added} />
      <Rules title={t.removed} list={removed} />
      <Rules title={t.operatorAdded} list={operatorAdded} />
      <Rules title={t.operatorRemoved} list={operatorRemoved} />
      <ExpandableSection toggleText={t.needed(needed.count)} isIndented>
        <RuleListView list={needed} />
        <p className="olm-subtle">{planText.manageNote}</p>
      </ExpandableSection>
      <CommandLine command={command} label={t.command} />
    </>
  );
}

function Rules({ title, list }: { readonly title: string; readonly list: RuleList }): ReactElement | null {
  if (list.count === 0) return null;
  return (
    <div className="olm-stack">
      <h4>{title}</h4>
      <RuleListView list={list} />
    </div>
  );
}

function Manifests({ yaml }: { readonly yaml: string }): ReactElement {
  return (
    <div className="olm-stack">
      <h4>{t.yaml}</h4>
      <p className="olm-subtle olm-prose">{t.yamlNote}</p>
      <div>
        <ActionButton request={{ action: "apply", yaml }} variant="primary">
          {t.apply}
        </ActionButton>
      </div>
      <ExpandableSection toggleText={t.showYaml} isIndented>
        <CodeText code={yaml} label={t.yaml} copyLabel={t.copyYaml} />
      </ExpandableSection>
    </div>
  );
}
