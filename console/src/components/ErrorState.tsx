import { Button, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter, ExpandableSection } from "@patternfly/react-core";
import { ExclamationCircleIcon, ExclamationTriangleIcon, LockIcon, UnpluggedIcon } from "@patternfly/react-icons";
import type { ReactElement } from "react";
import { Link } from "react-router";
import type { ConsoleProblem } from "../../../pkg/consoleapi/problem.ts";
import { RequestError } from "../api/request.ts";
import { text } from "../text/en.ts";

const ICONS: Partial<Record<ConsoleProblem["kind"], typeof LockIcon>> = {
  forbidden: LockIcon,
  disconnected: UnpluggedIcon,
  conflict: ExclamationTriangleIcon,
};
/** Kinds that the user can resolve. */
const WARNINGS: ReadonlySet<string | undefined> = new Set<ConsoleProblem["kind"]>(["forbidden", "conflict"]);

/** Shows why a part of a page cannot be shown, and what to do. */
export function ErrorState({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactElement {
  const problem = error instanceof RequestError ? error.problem : undefined;
  const icon = (problem && ICONS[problem.kind]) ?? ExclamationCircleIcon;
  return (
    <EmptyState
      headingLevel="h2"
      titleText={text.errors.title}
      icon={icon}
      status={WARNINGS.has(problem?.kind) ? "warning" : "danger"}
      variant="sm"
    >
      <EmptyStateBody>
        <p className="olm-break">{error instanceof Error ? error.message : String(error)}</p>
        {problem?.missing !== undefined && <p className="olm-break">{`${text.errors.missingPermission}: ${problem.missing}`}</p>}
        {problem?.next !== undefined && <p>{problem.next}</p>}
        {problem?.detail !== undefined && (
          <ExpandableSection toggleText={text.common.details}>
            <p className="olm-break" dir="auto">
              {problem.detail}
            </p>
          </ExpandableSection>
        )}
        {problem?.extension !== undefined && (
          <p>
            <Link to={`/extensions/${problem.extension}`}>{text.errors.openExtension(problem.extension)}</Link>
          </p>
        )}
      </EmptyStateBody>
      {onRetry && (
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button variant="link" onClick={onRetry}>
              {text.errors.retry}
            </Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}
