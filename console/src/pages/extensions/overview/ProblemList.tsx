import { ExpandableSection } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { ActionRequest } from "../../../../../pkg/consoleapi/actions.ts";
import type { ProblemEntry, ProblemView } from "../../../../../pkg/consoleapi/overview.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { Label } from "../../../components/Label.tsx";
import { NextSteps } from "../../../components/NextStep.tsx";
import { SeverityIcon } from "../../../components/SeverityIcon.tsx";
import { overviewText as t } from "../../../text/overview.ts";
import { buildObjectPath } from "../objects/objectLink.ts";

/** Rules that are visible without a click. */
const OPEN_RULES = 8;

/** The problems of an extension, each with its details, its command, and buttons that repair it. */
export function ProblemList({
  extension,
  problems,
  omitted,
}: {
  readonly extension: string;
  readonly problems: readonly ProblemView[];
  readonly omitted: number;
}): ReactElement {
  if (problems.length === 0) return <p className="olm-subtle">{t.noProblems}</p>;
  return (
    <>
      <ul className="olm-list">
        {problems.map((problem, i) => (
          <Problem key={`${problem.type} ${i}`} extension={extension} problem={problem} />
        ))}
      </ul>
      {omitted > 0 && <p className="olm-subtle">{t.omitted(omitted)}</p>}
    </>
  );
}

function Problem({ extension, problem }: { readonly extension: string; readonly problem: ProblemView }): ReactElement {
  const { type, severity, message, next, permissions, details, actions, tab } = problem;
  return (
    <li className="olm-list-item">
      <SeverityIcon severity={severity} label={t.severity[severity]} />
      <div className="olm-list-body">
        <h3 className="olm-list-title olm-break">
          <bdi>{type}</bdi>
        </h3>
        {message !== "" && (
          <p className="olm-break olm-lines" dir="auto">
            {message}
          </p>
        )}
        {permissions.length > 0 && <Rules permissions={permissions} />}
        {details.length > 0 && <Details extension={extension} details={details} message={message} />}
        <NextSteps steps={next} />
        {(actions.length > 0 || tab !== undefined) && (
          <div className="olm-problem-actions">
            {actions.map((request) => (
              <ActionButton key={request.action} request={request} size="sm">
                {formatAction(request)}
              </ActionButton>
            ))}
            {tab !== undefined && <Link to={`/extensions/${extension}/${tab}`}>{t.tabs[tab]}</Link>}
          </div>
        )}
      </div>
    </li>
  );
}

function formatAction(request: ActionRequest): string {
  if (request.action === "rollBack") return t.actions.rollBack(request.revision);
  const labels: Readonly<Record<string, string | undefined>> = { ...t.actions, rollBack: undefined };
  return labels[request.action] ?? request.action;
}

function Rules({ permissions }: { readonly permissions: ProblemView["permissions"] }): ReactElement {
  const count = permissions.reduce((sum, { rules }) => sum + rules.length, 0);
  const lists = permissions.map(({ namespace, rules }) => (
    <div key={namespace}>
      <p className="olm-subtle">{namespace === "" ? t.everywhere : t.inNamespace(namespace)}</p>
      <ul className="olm-rules">
        {rules.map((rule) => (
          <li key={rule}>
            <code className="olm-break">{rule}</code>
          </li>
        ))}
      </ul>
    </div>
  ));
  if (count <= OPEN_RULES) return <div>{lists}</div>;
  return <ExpandableSection toggleText={`${t.missingRules} (${count})`}>{lists}</ExpandableSection>;
}

function Details({
  extension,
  details,
  message,
}: {
  readonly extension: string;
  readonly details: readonly ProblemEntry[];
  /** The visible message, which may already contain the text of a detail. */
  readonly message: string;
}): ReactElement {
  return (
    <ul className="olm-details">
      {details.map((detail, i) => (
        <li key={`${detail.name} ${i}`}>
          <DetailName extension={extension} detail={detail} />
          {detail.text !== "" && !message.includes(detail.text) && (
            <span className="olm-break" dir="auto">
              {detail.text}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function DetailName({ extension, detail }: { readonly extension: string; readonly detail: ProblemEntry }): ReactElement | undefined {
  const { name, object, catalog, extension: other } = detail;
  if (name === "") return undefined;
  const to = object
    ? buildObjectPath(extension, object)
    : other === undefined
      ? catalog === undefined
        ? undefined
        : `/catalogs/${catalog}`
      : `/extensions/${other}`;
  return to === undefined ? (
    <Label isCompact>{name}</Label>
  ) : (
    <Link to={to} className="olm-break">
      {name}
    </Link>
  );
}
