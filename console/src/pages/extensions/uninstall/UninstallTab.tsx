import "./uninstall.css";
import { ExpandableSection, List, ListItem, Radio, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { Link, useSearchParams } from "react-router";
import * as z from "zod/mini";
import { UninstallPolicy } from "../../../../../pkg/consoleapi/actions.ts";
import { UninstallView } from "../../../../../pkg/consoleapi/uninstall.ts";
import { getJson } from "../../../api/request.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { Alert } from "../../../components/Alert.tsx";
import { CommandLine } from "../../../components/CommandLine.tsx";
import { NextSteps } from "../../../components/NextStep.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { uninstallText as t } from "../../../text/uninstall.ts";
import { useExtensionName } from "../extensionName.ts";
import { ObjectNames } from "./ObjectNames.tsx";

/** What an uninstall of the extension would do, and the uninstall itself. */
export default function UninstallTab(): ReactElement {
  const name = useExtensionName();
  const [params, setParams] = useSearchParams();
  const { data: crdPolicy } = z.safeParse(UninstallPolicy, params.get("crdPolicy"));
  const query = useQuery({
    queryKey: ["extension", name, "uninstall", crdPolicy],
    queryFn: ({ signal }) =>
      getJson(`/api/extensions/${encodeURIComponent(name)}/uninstall${crdPolicy ? `?crdPolicy=${crdPolicy}` : ""}`, UninstallView, signal),
    placeholderData: (previous) => previous,
  });
  return (
    <div>
      <Title headingLevel="h2">{t.title}</Title>
      <p className="olm-subtle olm-prose">{t.intro}</p>
      <QueryView query={query}>
        {(view) => (
          <Preview
            name={name}
            view={view}
            chosen={crdPolicy}
            isCurrent={!query.isPlaceholderData}
            onPolicy={(policy) => setParams(policy === view.currentPolicy ? {} : { crdPolicy: policy }, { replace: true })}
          />
        )}
      </QueryView>
    </div>
  );
}

function Preview({
  name,
  view,
  chosen,
  isCurrent,
  onPolicy,
}: {
  readonly name: string;
  readonly view: UninstallView;
  readonly chosen: UninstallPolicy | undefined;
  /** Whether the preview is for the chosen policy. */
  readonly isCurrent: boolean;
  readonly onPolicy: (policy: UninstallPolicy) => void;
}): ReactElement {
  const { effects, isDeleting, blocked, unblock, unread, definitions, objects, objectCount, created, command } = view;
  return (
    <>
      {unread.length > 0 && (
        <Alert status="warning" component="h3" title={t.unread}>
          <Texts texts={unread} />
        </Alert>
      )}
      {blocked.length > 0 && (
        <Alert status="warning" component="h3" title={t.blocked}>
          <Texts texts={blocked} />
          <NextSteps steps={unblock} label={t.unblock} />
        </Alert>
      )}
      {(definitions.length > 0 || unread.length > 0) && <PolicyChoice view={view} chosen={chosen} onPolicy={onPolicy} />}
      <TabSection title={t.effects}>
        <Texts texts={effects} />
        <div className="olm-offer">
          <ActionButton
            request={{ action: "uninstall", extension: name, ...(chosen ? { crdPolicy: chosen } : {}) }}
            variant="danger"
            disabledReason={isDeleting ? t.isDeleting : undefined}
          >
            {t.uninstall}
          </ActionButton>
          <CommandLine command={command} label={t.command} />
        </div>
      </TabSection>
      <TabSection title={t.definitions}>
        {definitions.length === 0 ? (
          <p>{unread.length > 0 ? t.unknownDefinitions : t.noDefinitions}</p>
        ) : (
          <Definitions view={view} isCurrent={isCurrent} />
        )}
      </TabSection>
      <TabSection title={t.dependents}>
        <Dependents dependents={view.dependents} />
      </TabSection>
      {created.length > 0 && (
        <TabSection title={t.created}>
          <p className="olm-subtle olm-prose">{t.createdNote}</p>
          <ObjectNames objects={created} />
        </TabSection>
      )}
      {objectCount > 0 && (
        <ExpandableSection toggleText={t.objects(objectCount)} isIndented>
          <ObjectNames objects={objects} />
          {objects.length < objectCount && <p className="olm-subtle">{t.more(objectCount - objects.length)}</p>}
        </ExpandableSection>
      )}
    </>
  );
}

function PolicyChoice({
  view: { policies, policyNote, currentPolicy },
  chosen = currentPolicy,
  onPolicy,
}: {
  readonly view: UninstallView;
  readonly chosen: UninstallPolicy | undefined;
  readonly onPolicy: (policy: UninstallPolicy) => void;
}): ReactElement {
  if (policyNote !== undefined)
    return (
      <Alert status="warning" component="h3" title={t.policy}>
        <p>{policyNote}</p>
      </Alert>
    );
  return (
    <fieldset className="olm-policies">
      <legend>{t.policy}</legend>
      {policies.map(({ policy, meaning }) => (
        <Radio
          key={policy}
          id={`olm-crd-policy-${policy}`}
          name="crdPolicy"
          label={policy === currentPolicy ? `${t.policyNames[policy]} (${t.currentPolicy})` : t.policyNames[policy]}
          description={meaning}
          isChecked={policy === chosen}
          onChange={() => onPolicy(policy)}
        />
      ))}
    </fieldset>
  );
}

function Definitions({ view: { definitions }, isCurrent }: { readonly view: UninstallView; readonly isCurrent: boolean }): ReactElement {
  return (
    <ul className="olm-list" aria-busy={!isCurrent}>
      {definitions.map(({ name, kind, outcome, count, unknown, names }) => (
        <li key={name} className="olm-definition">
          <div className="olm-list-title">
            <bdi className="olm-break">{kind}</bdi>
            <StateLabel state={t.outcomes[outcome]} />
            <span className="olm-subtle">{count}</span>
          </div>
          <p className="olm-subtle olm-break">{name}</p>
          {unknown !== undefined && <p className="olm-break">{unknown}</p>}
          {names.length > 0 && (
            <p className="olm-break">
              <bdi>{names.join(", ")}</bdi>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function Dependents({ dependents }: Pick<UninstallView, "dependents">): ReactElement {
  if (typeof dependents === "string")
    return (
      <Alert status="warning" component="h4" title={t.dependentsUnknown}>
        <p className="olm-break">{dependents}</p>
      </Alert>
    );
  if (dependents.length === 0) return <p>{t.noDependents}</p>;
  return (
    <List>
      {dependents.map(({ extension, bundle, needs }) => (
        <ListItem key={extension} className="olm-break">
          <Link to={`/extensions/${extension}`}>{extension}</Link>{" "}
          <span className="olm-subtle">
            (<bdi>{bundle}</bdi>)
          </span>{" "}
          <bdi>{t.needs(needs.join(", "))}</bdi>
        </ListItem>
      ))}
    </List>
  );
}

function Texts({ texts }: { readonly texts: readonly string[] }): ReactElement {
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
