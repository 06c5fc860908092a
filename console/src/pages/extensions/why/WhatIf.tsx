import {
  ActionGroup,
  Button,
  Checkbox,
  Form,
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  Radio,
  TextInput,
} from "@patternfly/react-core";
import { type FormEvent, type ReactElement, useEffect, useState } from "react";
import type { SourceLimits, Why } from "../../../../../pkg/consoleapi/why.ts";
import { CopyBlock } from "../../../components/CopyBlock.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { whyText } from "../../../text/why.ts";

const t = whyText.whatIf;
const POLICIES = ["CatalogProvided", "SelfCertified"] as const;

/** Tries other limits without writing anything, and shows the change to copy. */
export function WhatIf({
  why,
  current,
  onTry,
  onReset,
}: {
  /** The answer for the limits in the form. */
  readonly why: Why;
  /** The answer for the current limits, if it is loaded. */
  readonly current: Why | undefined;
  readonly onTry: (limits: SourceLimits) => void;
  readonly onReset: () => void;
}): ReactElement {
  const { limits, change } = why;
  const [draft, setDraft] = useState(limits);
  const key = JSON.stringify(limits);
  useEffect(() => setDraft(JSON.parse(key) as SourceLimits), [key]);
  const isEdited = JSON.stringify(draft) !== key;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onTry(draft);
  };
  return (
    <div className="olm-what-if">
      <Form onSubmit={submit} aria-label={t.title}>
        <FormGroup label={t.range} fieldId="olm-range">
          <TextInput
            id="olm-range"
            value={draft.range}
            maxLength={64}
            aria-describedby="olm-range-help"
            onChange={(_event, range) => setDraft({ ...draft, range })}
          />
          <FormHelperText>
            <HelperText id="olm-range-help">
              <HelperTextItem>{t.rangeHelp}</HelperTextItem>
            </HelperText>
          </FormHelperText>
        </FormGroup>
        <ChannelBoxes why={why} draft={draft} setDraft={setDraft} />
        <FormGroup role="radiogroup" isStack label={t.policy} fieldId="olm-policy">
          {POLICIES.map((policy) => (
            <Radio
              key={policy}
              id={`olm-policy-${policy}`}
              name="olm-policy"
              label={policy}
              description={t.policies[policy]}
              isChecked={draft.policy === policy}
              onChange={() => setDraft({ ...draft, policy })}
            />
          ))}
        </FormGroup>
        <ActionGroup>
          <Button type="submit" variant="primary" isDisabled={!isEdited}>
            {t.try}
          </Button>
          {(change.isChanged || isEdited) && (
            <Button
              variant="link"
              onClick={() => {
                setDraft(why.current);
                onReset();
              }}
            >
              {t.reset}
            </Button>
          )}
        </ActionGroup>
      </Form>
      <Result why={why} current={current} />
    </div>
  );
}

function ChannelBoxes({
  why: { channels },
  draft,
  setDraft,
}: {
  readonly why: Why;
  readonly draft: SourceLimits;
  readonly setDraft: (draft: SourceLimits) => void;
}): ReactElement {
  const names = [...new Set([...channels.map(({ name }) => name), ...draft.channels])];
  const toggle = (name: string, isOn: boolean): void =>
    setDraft({ ...draft, channels: isOn ? [...draft.channels, name] : draft.channels.filter((other) => other !== name) });
  return (
    <FormGroup role="group" label={t.channels} fieldId="olm-channels">
      <div className="olm-channel-boxes">
        {names.map((name) => (
          <Checkbox
            key={name}
            id={`olm-channel-${name}`}
            label={name}
            isChecked={draft.channels.includes(name)}
            onChange={(_event, isOn) => toggle(name, isOn)}
          />
        ))}
      </div>
      <FormHelperText>
        <HelperText>
          <HelperTextItem>{t.channelsHelp}</HelperTextItem>
        </HelperText>
      </FormHelperText>
    </FormGroup>
  );
}

function Result({ why, current }: { readonly why: Why; readonly current: Why | undefined }): ReactElement {
  const { change, outcome } = why;
  if (!change.isChanged) return <p className="olm-subtle">{t.same}</p>;
  return (
    <div className="olm-what-if-result" aria-live="polite">
      <dl className="olm-compare">
        {current && <Compared label={t.now} outcome={current.outcome} />}
        <Compared label={t.withLimits} outcome={outcome} />
      </dl>
      <CopyBlock label={t.command} content={change.command} />
      <CopyBlock label={t.patch} content={change.patch} />
      <CopyBlock label={t.yaml} content={change.yaml} />
    </div>
  );
}

function Compared({ label, outcome: { state, title } }: { readonly label: string; readonly outcome: Why["outcome"] }): ReactElement {
  return (
    <div>
      <dt>{label}</dt>
      <dd className="olm-break" dir="auto">
        <StateLabel state={state} /> {title}
      </dd>
    </div>
  );
}
