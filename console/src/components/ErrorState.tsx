import { Button, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from "@patternfly/react-core";
import { ExclamationCircleIcon, LockIcon, UnpluggedIcon } from "@patternfly/react-icons";
import type { ReactElement } from "react";
import type { ConsoleProblem, MissingPermission } from "../../../pkg/consoleapi/problem.ts";
import { RequestError } from "../api/request.ts";
import { text } from "../text/en.ts";

const ICONS: Partial<Record<ConsoleProblem["kind"], typeof LockIcon>> = { forbidden: LockIcon, disconnected: UnpluggedIcon };

/** Shows why a part of a page cannot be shown, and what to do. */
export function ErrorState({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactElement {
  const problem = error instanceof RequestError ? error.problem : undefined;
  const icon = (problem && ICONS[problem.kind]) ?? ExclamationCircleIcon;
  return (
    <EmptyState
      headingLevel="h2"
      titleText={text.errors.title}
      icon={icon}
      status={problem?.kind === "forbidden" ? "warning" : "danger"}
      variant="sm"
    >
      <EmptyStateBody>
        <p className="olm-break">{error instanceof Error ? error.message : String(error)}</p>
        {problem?.missing && <p>{`${text.errors.missingPermission}: ${formatPermission(problem.missing)}`}</p>}
        {problem?.next !== undefined && <p>{problem.next}</p>}
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

/** Formats a permission, such as `patch clusterextensions.olm.operatorframework.io argocd`. */
export function formatPermission({ verb, group, resource, subresource, namespace, name }: MissingPermission): string {
  const type = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  return [verb, type, name, namespace === undefined ? undefined : `(namespace ${namespace})`].filter(Boolean).join(" ");
}
