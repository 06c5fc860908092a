import { CodeBlock, CodeBlockAction, CodeBlockCode } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { CopyButton } from "./CommandLine.tsx";

/** A text of several lines to read and to copy, such as YAML. */
export function CodeText({
  code,
  copied = code,
  label,
  copyLabel,
}: {
  readonly code: string;
  /** The text to copy, if it differs from the shown one. */
  readonly copied?: string;
  /** What the text is. */
  readonly label: string;
  readonly copyLabel: string;
}): ReactElement {
  return (
    <CodeBlock
      actions={
        <CodeBlockAction>
          <CopyButton value={copied} label={copyLabel} />
        </CodeBlockAction>
      }
    >
      <div className="olm-code" tabIndex={0} role="region" aria-label={label}>
        <CodeBlockCode>{code}</CodeBlockCode>
      </div>
    </CodeBlock>
  );
}
