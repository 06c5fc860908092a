import type { ReactElement } from "react";
import { text } from "../text/en.ts";
import { CommandLine } from "./CommandLine.tsx";

const COMMAND = /^(olmv1|kubectl) /;

/** What to do next: a command to copy, or a sentence. */
export function NextStep({ step }: { readonly step: string }): ReactElement {
  if (COMMAND.test(step)) return <CommandLine command={step} label={text.common.next} />;
  return (
    <p className="olm-break" dir="auto">
      {`${text.common.next}: ${step}.`}
    </p>
  );
}
