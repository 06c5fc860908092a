import { Button, type ButtonProps } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useId } from "react";
import { ActionAccess, type ActionRequest } from "../../../pkg/consoleapi/actions.ts";
import { useOpenAction } from "../actions/actionHost.tsx";
import { getJson } from "../api/request.ts";
import { useSession } from "../app/consoleState.tsx";
import { actionsText } from "../text/actions.ts";
import { HoverText } from "./HoverText.tsx";

const ACCESS_MS = 30_000;

/** Properties of an ActionButton. */
export interface ActionButtonProps {
  readonly request: ActionRequest;
  readonly children: ReactNode;
  readonly variant?: ButtonProps["variant"];
  /** Whether the action deletes something or cannot be undone. */
  readonly isDanger?: boolean;
  /** Why the page does not offer the action now. */
  readonly disabledReason?: string | undefined;
  /** Called after the change was sent and the user closed the dialog. */
  readonly onDone?: () => void;
  readonly size?: ButtonProps["size"];
}

/**
 * A button that changes the cluster. It opens a dialog with the exact requests and their dry runs, and sends them after a confirmation. The button is
 * disabled, with the reason, if the console is read-only, or if the user lacks the permission.
 */
export function ActionButton({
  request,
  children,
  variant = "secondary",
  isDanger = false,
  disabledReason,
  onDone,
  size,
}: ActionButtonProps): ReactElement {
  const open = useOpenAction();
  const lacking = useLackingPermission(request);
  const reasonId = useId();
  const { readOnly } = useSession();
  const reason = readOnly ? actionsText.readOnly : (disabledReason ?? lacking);
  const button = (
    <Button
      variant={variant}
      isDanger={isDanger}
      {...(size ? { size } : {})}
      isAriaDisabled={reason !== undefined}
      aria-describedby={reason === undefined ? undefined : reasonId}
      onClick={() => {
        if (reason === undefined) open({ request, onDone });
      }}
    >
      {children}
    </Button>
  );
  if (reason === undefined) return button;
  return (
    <>
      <HoverText content={reason}>{button}</HoverText>
      <span id={reasonId} className="pf-v6-screen-reader">
        {reason}
      </span>
    </>
  );
}

/** Returns the permission that the user lacks as a sentence. Undefined while it is unknown: the dialog checks it too. */
function useLackingPermission(request: ActionRequest): string | undefined {
  const { action } = request;
  const extension = "extension" in request ? request.extension : undefined;
  const params = new URLSearchParams({ action, ...(extension === undefined ? {} : { extension }) });
  const { data } = useQuery({
    queryKey: ["action-access", action, extension],
    queryFn: ({ signal }) => getJson(`/api/actions/access?${params}`, ActionAccess, signal),
    staleTime: ACCESS_MS,
  });
  return data?.missing === undefined ? undefined : actionsText.lacking(data.missing);
}
