import {
  createContext,
  lazy,
  type ReactElement,
  type ReactNode,
  Suspense,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
} from "react";
import type { ActionRequest } from "../../../pkg/consoleapi/actions.ts";

const ActionDialog = lazy(() => import("./ActionDialog.tsx"));

/** A change that the user asked for. */
export interface OpenedAction {
  readonly request: ActionRequest;
  /** Called after the user has seen that the change was sent. */
  readonly onDone?: (() => void) | undefined;
}

const Context = createContext<((action: OpenedAction) => void) | undefined>(undefined);

/**
 * Shows the dialog of a change. The dialog is not part of the page that opened it, because the page may lose the button when the change takes effect.
 */
export function ActionHost({ children }: { readonly children: ReactNode }): ReactElement {
  const [opened, setOpened] = useState<OpenedAction & { readonly number: number }>();
  const count = useRef(0);
  const trigger = useRef<Element | null>(null);
  const open = useCallback((action: OpenedAction) => {
    trigger.current = document.activeElement;
    setOpened({ ...action, number: ++count.current });
  }, []);
  const close = useCallback((isDone: boolean, onDone?: () => void) => {
    setOpened(undefined);
    setTimeout(() => returnFocus(trigger.current));
    if (isDone) onDone?.();
  }, []);
  const context = useMemo(() => open, [open]);
  return (
    <Context.Provider value={context}>
      {children}
      {opened && (
        <Suspense fallback={null}>
          <ActionDialog key={opened.number} request={opened.request} onClose={(isDone) => close(isDone, opened.onDone)} />
        </Suspense>
      )}
    </Context.Provider>
  );
}

/** Focuses the button that opened the dialog; the content of the page if the button is gone. */
function returnFocus(trigger: Element | null): void {
  if (trigger instanceof HTMLElement && trigger.isConnected) trigger.focus();
  else document.querySelector<HTMLElement>("main")?.focus();
}

/** Returns a function that opens the dialog of a change. */
export function useOpenAction(): (action: OpenedAction) => void {
  const open = useContext(Context);
  if (!open) throw new Error("the component is outside of ActionHost");
  return open;
}
