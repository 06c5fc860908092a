import { List, ListItem } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { ExtensionPlan, PlanFindingRow } from "../../../../../pkg/consoleapi/plan.ts";
import { Alert } from "../../../components/Alert.tsx";
import { NextStep } from "../../../components/NextStep.tsx";
import { ObjectChanges } from "../../../components/ObjectChanges.tsx";
import { PermissionsPreviewView } from "../../../components/PermissionsPreviewView.tsx";
import { RuleListView } from "../../../components/RuleListView.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { planText as t } from "../../../text/plan.ts";

/** Everything that a plan contains, most important first: errors, permissions, changed objects, then notes. */
export function PlanDetails({ plan }: { readonly plan: ExtensionPlan }): ReactElement {
  const { findings, objects, omittedObjects, warnings, notes, unavailableCatalogs, dependencies } = plan;
  return (
    <>
      {findings.length > 0 && (
        <TabSection title={t.findings}>
          {findings.map((finding) => (
            <Finding key={`${finding.title} ${finding.text}`} finding={finding} />
          ))}
        </TabSection>
      )}
      <Permissions plan={plan} />
      {dependencies && <Dependencies dependencies={dependencies} />}
      <TabSection title={t.changes}>
        <ObjectChanges objects={objects} omitted={omittedObjects} />
      </TabSection>
      {warnings.length > 0 && (
        <TabSection title={t.warnings}>
          <Texts texts={warnings.map(({ text, objects: about }) => `${about.join(", ")}: ${text}`)} />
        </TabSection>
      )}
      {unavailableCatalogs.length > 0 && (
        <TabSection title={t.unavailable}>
          <Texts texts={unavailableCatalogs.map(({ catalog, because }) => `${catalog}: ${because}`)} />
        </TabSection>
      )}
      {notes.length > 0 && (
        <TabSection title={t.notes}>
          <Texts texts={notes} />
        </TabSection>
      )}
    </>
  );
}

function Finding({ finding: { title, text, rules, grant } }: { readonly finding: PlanFindingRow }): ReactElement {
  return (
    <Alert status="danger" component="h4" title={title}>
      <div className="olm-scopes">
        <p className="olm-break olm-lines" dir="auto">
          {text}
        </p>
        {rules && <RuleListView list={rules} />}
        {grant !== undefined && <NextStep step={grant} label={t.grant} />}
      </div>
    </Alert>
  );
}

function Permissions({ plan: { permissions, objects } }: { readonly plan: ExtensionPlan }): ReactElement | null {
  const widening = objects.filter(({ widens }) => widens);
  if (permissions === undefined && widening.length === 0) return null;
  return (
    <TabSection title={t.permissions}>
      {widening.length > 0 && (
        <div className="olm-stack">
          <p>{t.widens(widening.length)}</p>
          <Texts
            texts={widening.map(({ kind, namespace, name }) => `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`)}
          />
        </div>
      )}
      {typeof permissions === "string" && (
        <Alert status="warning" component="h4" title={t.permissionsUnknown}>
          <p className="olm-break">{permissions}</p>
        </Alert>
      )}
      {typeof permissions === "object" && <PermissionsPreviewView preview={permissions} />}
    </TabSection>
  );
}

function Dependencies({
  dependencies: { waves, notes },
}: {
  readonly dependencies: NonNullable<ExtensionPlan["dependencies"]>;
}): ReactElement {
  return (
    <TabSection title={t.dependencies}>
      <p className="olm-subtle olm-prose">{t.waveNote}</p>
      <ol className="olm-changes">
        {waves.map(({ wave, members }) => (
          <li key={wave}>
            <h4>{t.wave(wave)}</h4>
            <ul>
              {members.map(({ extension, isOwn, state, bundle, version, catalog, reason }) => (
                <li key={extension}>
                  <p className="olm-break">
                    <bdi>{bundle}</bdi> {version} {t.fromCatalog(catalog)}:{" "}
                    {isOwn ? t.thisExtension : <Link to={`/extensions/${extension}`}>{extension}</Link>}, {state}
                  </p>
                  {reason !== undefined && (
                    <p className="olm-subtle olm-break" dir="auto">
                      {reason}
                    </p>
                  )}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
      <Texts texts={notes} />
    </TabSection>
  );
}

function Texts({ texts }: { readonly texts: readonly string[] }): ReactElement | null {
  if (texts.length === 0) return null;
  return (
    <List>
      {texts.map((text) => (
        <ListItem key={text} className="olm-break">
          <span dir="auto">{text}</span>
        </ListItem>
      ))}
    </List>
  );
}
