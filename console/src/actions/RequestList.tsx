import { ExpandableSection, ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import type { PreparedRequest } from "../../../pkg/consoleapi/actions.ts";
import { CodeText } from "../components/CodeText.tsx";
import { Label } from "../components/Label.tsx";
import { actionsText as text } from "../text/actions.ts";
import { text as common } from "../text/en.ts";

/** The requests of a change, exactly as the console sends them, with the results of their dry runs. */
export function RequestList({
  requests,
  isTried,
}: {
  readonly requests: readonly PreparedRequest[];
  readonly isTried: boolean;
}): ReactElement {
  const [isRaw, setRaw] = useState(false);
  return (
    <ExpandableSection toggleText={text.requests(requests.length)} isIndented>
      <div className="olm-requests-head">
        <p>{text.requestsNote}</p>
        <ToggleGroup aria-label={text.view} isCompact>
          <ToggleGroupItem text={text.pretty} isSelected={!isRaw} onChange={() => setRaw(false)} />
          <ToggleGroupItem text={text.raw} isSelected={isRaw} onChange={() => setRaw(true)} />
        </ToggleGroup>
      </div>
      <ol className="olm-requests">
        {requests.map((request) => (
          <li key={`${request.method} ${request.path}`}>
            <Request request={request} isRaw={isRaw} isTried={isTried} />
          </li>
        ))}
      </ol>
    </ExpandableSection>
  );
}

function Request({
  request: { method, path, contentType, body, description, dryRun },
  isRaw,
  isTried,
}: {
  readonly request: PreparedRequest;
  readonly isRaw: boolean;
  readonly isTried: boolean;
}): ReactElement {
  const note = isTried ? text.notTried : text.notSent;
  return (
    <>
      <p className="olm-break">{description}</p>
      {body !== undefined && (
        <CodeText
          code={`${method} ${path}\n${contentType === undefined ? "" : `Content-Type: ${contentType}\n`}\n${isRaw ? body : format(body)}`}
          copied={body}
          label={text.body(description)}
          copyLabel={`${common.common.copy}: ${description}`}
        />
      )}
      <p className="olm-request-result olm-break">
        {dryRun ? (
          <>
            <Label isCompact status={dryRun.isOk ? "success" : "danger"}>
              {dryRun.isOk ? text.accepted : text.rejected}
            </Label>{" "}
            {dryRun.message}
          </>
        ) : (
          note
        )}
      </p>
      {dryRun?.warnings.map((warning) => (
        <p key={warning} className="olm-break">
          <Label isCompact status="warning">
            {text.warning}
          </Label>{" "}
          <bdi>{warning}</bdi>
        </p>
      ))}
    </>
  );
}

function format(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
