import { ClipboardCopyButton, CodeBlock, CodeBlockAction, CodeBlockCode } from "@patternfly/react-core";
import { type ReactElement, useId, useState } from "react";
import { text as common } from "../text/en.ts";

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
  const [isCopied, setCopied] = useState(false);
  const id = useId();
  return (
    <CodeBlock
      actions={
        <CodeBlockAction>
          <ClipboardCopyButton
            id={id}
            aria-label={copyLabel}
            variant="plain"
            onClick={() => void navigator.clipboard.writeText(copied).then(() => setCopied(true))}
            onTooltipHidden={() => setCopied(false)}
          >
            {isCopied ? common.common.copied : common.common.copy}
          </ClipboardCopyButton>
        </CodeBlockAction>
      }
    >
      <div className="olm-code" tabIndex={0} role="region" aria-label={label}>
        <CodeBlockCode>{code}</CodeBlockCode>
      </div>
    </CodeBlock>
  );
}
