import { ActionGroup, Button, Checkbox, Form, FormGroup, Radio, TextInput } from "@patternfly/react-core";
import { type FormEvent, type ReactElement, useState } from "react";
import type { SourceLimits, Why } from "../../../../../pkg/consoleapi/why.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { CopyBlock } from "../../../components/CopyBlock.tsx";
import { FieldHint } from "../../../components/FieldHint.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { whyText } from "../../../text/why.ts";

const t = whyText.whatIf;
const POLICIES = ["CatalogProvided", "SelfCertified"] as const;

/** Tries other limits without writing anything, and shows the change to copy. */
export function WhatIf({
  extension,
  why,
  current,
  onTry,
  onReset,
}: {
  readonly extension: string;
  /** The answer for the limits in the form. */
  readonly why: Why;
  /** The answer for the current limits, if it is loaded. */
  readonly current: Why | undefined;
  readonly onTry: (limits: SourceLimits) => void;
  readonly onReset: () => void;
}): ReactElement {
  return (
    <div className="olm-what-if">
      <LimitsForm key={JSON.stringify(why.limits)} why={why} onTry={onTry} onReset={onReset} />
      <Result extension={extension} why={why} current={current} onReset={onReset} />
    </div>
  );
}

function LimitsForm({
  why,
  onTry,
  onReset,
}: {
  readonly why: Why;
  readonly onTry: (limits: SourceLimits) => void;
  readonly onReset: () => void;
}): ReactElement {
  const { limits, change } = why;
  const [draft, setDraft] = useState(limits);
  const isEdited = JSON.stringify(draft) !== JSON.stringify(limits);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onTry(draft);
  };
  return (
    <Form onSubmit={submit} aria-label={t.title}>
      <FormGroup label={t.range} fieldId="olm-range">
        <TextInput
          id="olm-range"
          value={draft.range}
          maxLength={64}
          aria-describedby="olm-range-help"
          onChange={(_event, range) => setDraft({ ...draft, range })}
        />
        <FieldHint id="olm-range-help" text={t.rangeHelp} />
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
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- FormGroup has no other element
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
      <FieldHint text={t.channelsHelp} />
    </FormGroup>
  );
}

function Result({
  extension,
  why,
  current,
  onReset,
}: {
  readonly extension: string;
  readonly why: Why;
  readonly current: Why | undefined;
  readonly onReset: () => void;
}): ReactElement {
  const { change, outcome, limits } = why;
  if (!change.isChanged) return <p className="olm-subtle">{t.same}</p>;
  return (
    <div className="olm-what-if-result" aria-live="polite">
      <dl className="olm-compare">
        {current && <Compared label={t.now} outcome={current.outcome} />}
        <Compared label={t.withLimits} outcome={outcome} />
      </dl>
      <div>
        <ActionButton
          request={{
            action: "changeSource",
            extension,
            version: limits.range,
            channels: limits.channels,
            upgradeConstraintPolicy: limits.policy,
          }}
          variant="primary"
          onDone={onReset}
        >
          {t.apply}
        </ActionButton>
      </div>
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
