import "./limits.css";
import { Button, FormGroup, TextInput } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import type { SetURLSearchParams } from "react-router";
import { FieldHint } from "../../components/FieldHint.tsx";
import { planText as t } from "../../text/plan.ts";

/** A form with another version range and other channels to try. They are in the address, so that a link shows the same plan. */
export function LimitsForm({
  limits,
  onChange,
}: {
  readonly limits: URLSearchParams;
  readonly onChange: SetURLSearchParams;
}): ReactElement {
  const [range, setRange] = useState(limits.get("range") ?? "");
  const [channels, setChannels] = useState(limits.get("channels") ?? "");
  return (
    <form
      className="olm-limits"
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ range, ...(channels.trim() === "" ? {} : { channels }) });
      }}
    >
      <FormGroup label={t.range} fieldId="olm-plan-range">
        <TextInput id="olm-plan-range" value={range} onChange={(_event, value) => setRange(value)} autoComplete="off" spellCheck={false} />
        <FieldHint text={t.rangeHint} />
      </FormGroup>
      <FormGroup label={t.channels} fieldId="olm-plan-channels">
        <TextInput
          id="olm-plan-channels"
          value={channels}
          onChange={(_event, value) => setChannels(value)}
          autoComplete="off"
          spellCheck={false}
        />
        <FieldHint text={t.channelsHint} />
      </FormGroup>
      <div className="olm-limits-buttons">
        <Button variant="secondary" type="submit">
          {t.showPlan}
        </Button>
        {limits.size > 0 && (
          <Button variant="link" onClick={() => onChange({})}>
            {t.current}
          </Button>
        )}
      </div>
    </form>
  );
}
