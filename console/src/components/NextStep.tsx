import type { ReactElement } from "react";
import type { SuggestedStep } from "../../../pkg/consoleapi/suggestedStep.ts";
import { text } from "../text/en.ts";
import { CommandLine } from "./CommandLine.tsx";

/** What to do next: a sentence, and a command to copy. */
export function NextStep({ step, label = text.common.next }: { readonly step: SuggestedStep; readonly label?: string }): ReactElement {
  return (
    <div className="olm-step">
      {step.text !== undefined && (
        <p className="olm-break">
          <span className="olm-subtle">{label}:</span> <bdi>{step.text}</bdi>
        </p>
      )}
      {step.command !== undefined && <CommandLine command={step.command} label={label} />}
      {step.note !== undefined && (
        <span className="olm-subtle olm-break" dir="auto">
          {step.note}
        </span>
      )}
    </div>
  );
}

/** Several next steps, most useful first. */
export function NextSteps({ steps, label }: { readonly steps: readonly SuggestedStep[]; readonly label?: string }): ReactElement {
  return (
    <>
      {steps.map((step) => (
        <NextStep key={`${step.text} ${step.command}`} step={step} {...(label === undefined ? {} : { label })} />
      ))}
    </>
  );
}
