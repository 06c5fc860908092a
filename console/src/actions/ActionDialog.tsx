import "./actions.css";
import { Button, FormGroup, Modal, ModalBody, ModalFooter, ModalHeader, Spinner, TextInput } from "@patternfly/react-core";
import { type ReactElement, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import type { ActionRequest, PreparedAction } from "../../../pkg/consoleapi/actions.ts";
import { RequestError } from "../api/request.ts";
import { Alert } from "../components/Alert.tsx";
import { CommandLine } from "../components/CommandLine.tsx";
import { actionsText as text } from "../text/actions.ts";
import { ActionChoiceView } from "./ActionChoiceView.tsx";
import { ActionResults } from "./ActionResults.tsx";
import { RequestList } from "./RequestList.tsx";
import { isSendable, isTried } from "./sendable.ts";
import { type ActionState, useAction } from "./useAction.ts";

const TITLE_ID = "olm-action-title";

/** The dialog of a change: what happens, the exact requests with their dry runs, and the confirmation. */
export default function ActionDialog({
  request: first,
  onClose,
}: {
  readonly request: ActionRequest;
  /** @param isDone whether the change was sent without errors */
  readonly onClose: (isDone: boolean) => void;
}): ReactElement {
  const [request, setRequest] = useState(first);
  const { state, prepareAgain, run } = useAction(request);
  const [typed, setTyped] = useState("");
  const closing = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    if (state.step !== "sending") onClose(state.step === "sent" && state.result.isOk);
  };
  useEffect(() => {
    if (state.step === "sent") closing.current?.focus();
  }, [state.step]);
  const prepared = "prepared" in state ? state.prepared : undefined;
  return (
    <Modal variant="medium" isOpen onClose={close} aria-labelledby={TITLE_ID}>
      <ModalHeader
        labelId={TITLE_ID}
        title={prepared?.title ?? text.confirm[request.action]}
        {...(prepared?.isDanger ? { titleIconVariant: "warning" as const } : {})}
      />
      <ModalBody className="olm-action" tabIndex={0}>
        <DialogBody
          state={state}
          typed={typed}
          setTyped={setTyped}
          onConfirm={() => run(typed)}
          isReplaced={request !== first}
          onReplace={setRequest}
        />
      </ModalBody>
      <ModalFooter>
        <DialogButtons
          state={state}
          label={text.confirm[request.action]}
          isConfirmed={(prepared?.confirmation ?? typed) === typed}
          closing={closing}
          onRun={() => run(typed)}
          onAgain={prepareAgain}
          onClose={close}
        />
      </ModalFooter>
    </Modal>
  );
}

function DialogBody({
  state,
  typed,
  setTyped,
  onConfirm,
  isReplaced,
  onReplace,
}: {
  readonly state: ActionState;
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
  readonly onConfirm: () => void;
  readonly isReplaced: boolean;
  /** Prepares another change in place of this one. */
  readonly onReplace: (request: ActionRequest) => void;
}): ReactElement {
  if (state.step === "preparing") {
    return (
      <p className="olm-action-wait" role="status">
        <Spinner size="md" aria-hidden="true" /> {text.preparing}
      </p>
    );
  }
  if (state.step === "unprepared") return <Problem title={text.rejectedTitle} error={state.error} />;
  const { prepared } = state;
  if (state.step === "sent") return <ActionResults result={state.result} />;
  return (
    <>
      {state.step === "failed" && <Problem title={text.failed} error={state.error} />}
      <Obstacles prepared={prepared} onReplace={onReplace} />
      <section aria-labelledby="olm-action-effects">
        <h2 id="olm-action-effects" className="olm-action-heading">
          {text.effects}
        </h2>
        <ul className="olm-action-effects">
          {prepared.effects.map((effect) => (
            <li key={effect} className="olm-break" dir="auto">
              {effect}
            </li>
          ))}
        </ul>
      </section>
      {prepared.choice && (
        <ActionChoiceView choice={prepared.choice} isDisabled={state.step === "sending"} isReplaced={isReplaced} onReplace={onReplace} />
      )}
      {prepared.confirmation !== undefined && isSendable(state) && (
        <Confirmation expected={prepared.confirmation} typed={typed} setTyped={setTyped} onConfirm={onConfirm} />
      )}
      <RequestList requests={prepared.requests} isTried={isTried(prepared)} />
      {prepared.command !== undefined && (
        <section aria-labelledby="olm-action-command">
          <h2 id="olm-action-command" className="olm-action-heading">
            {text.command}
          </h2>
          <CommandLine command={prepared.command} label={text.commandLabel} />
        </section>
      )}
    </>
  );
}

/** Why the change cannot be made, or why the API server would reject it. */
function Obstacles({
  prepared,
  onReplace,
}: {
  readonly prepared: PreparedAction;
  readonly onReplace: (request: ActionRequest) => void;
}): ReactNode {
  const { missing, rejected, alternative } = prepared;
  if (rejected !== undefined || missing !== undefined) {
    return (
      <Alert status="warning" component="h2" title={text.rejectedTitle}>
        <p className="olm-break">{rejected ?? text.lacking(missing ?? "")}</p>
      </Alert>
    );
  }
  const failed = prepared.requests.filter(({ dryRun }) => dryRun && !dryRun.isOk);
  if (failed.length === 0) return null;
  return (
    <Alert status="danger" component="h2" title={text.dryRunTitle}>
      {failed.map(({ path, description, dryRun }) => (
        <p key={path} className="olm-break">
          {description}: {dryRun?.message}
        </p>
      ))}
      {alternative ? (
        <>
          <p>{alternative.meaning}</p>
          <Button variant="secondary" size="sm" onClick={() => onReplace(alternative.request)}>
            {alternative.label}
          </Button>
        </>
      ) : (
        <p>{text.dryRunNext}</p>
      )}
    </Alert>
  );
}

function Problem({ title, error }: { readonly title: string; readonly error: unknown }): ReactElement {
  const problem = error instanceof RequestError ? error.problem : undefined;
  return (
    <Alert status="danger" component="h2" title={title} isLiveRegion>
      <p className="olm-break">{error instanceof Error ? error.message : String(error)}</p>
      {problem?.missing !== undefined && <p>{text.lacking(problem.missing)}</p>}
      {problem?.next !== undefined && <p>{problem.next}</p>}
    </Alert>
  );
}

function Confirmation({
  expected,
  typed,
  setTyped,
  onConfirm,
}: {
  readonly expected: string;
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
  readonly onConfirm: () => void;
}): ReactElement {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed === expected) onConfirm();
      }}
    >
      <FormGroup label={text.confirmation(expected)} fieldId="olm-action-confirmation">
        <TextInput
          id="olm-action-confirmation"
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(_event, value) => setTyped(value)}
        />
      </FormGroup>
    </form>
  );
}

function DialogButtons({
  state,
  label,
  isConfirmed,
  closing,
  onRun,
  onAgain,
  onClose,
}: {
  readonly state: ActionState;
  readonly label: string;
  readonly isConfirmed: boolean;
  readonly closing: RefObject<HTMLButtonElement | null>;
  readonly onRun: () => void;
  readonly onAgain: () => void;
  readonly onClose: () => void;
}): ReactElement {
  if (state.step === "sent") {
    return (
      <Button variant="primary" onClick={onClose} ref={closing}>
        {text.close}
      </Button>
    );
  }
  const prepared = "prepared" in state ? state.prepared : undefined;
  const isSending = state.step === "sending";
  const canSend = isSendable(state);
  const needsCheck = state.step === "unprepared" || (prepared !== undefined && !canSend);
  return (
    <>
      {needsCheck ? (
        <Button variant="primary" onClick={onAgain}>
          {text.again}
        </Button>
      ) : (
        <Button
          variant={prepared?.isDanger ? "danger" : "primary"}
          isDisabled={!canSend || !isConfirmed || isSending}
          isLoading={isSending}
          onClick={onRun}
        >
          {isSending ? text.sending : state.step === "failed" ? text.retry : label}
        </Button>
      )}
      <Button variant="link" onClick={onClose} isDisabled={isSending}>
        {text.cancel}
      </Button>
    </>
  );
}
