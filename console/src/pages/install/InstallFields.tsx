import { Checkbox, Form, FormGroup, FormSection, FormSelect, FormSelectOption, TextInput } from "@patternfly/react-core";
import { type ReactElement, useId } from "react";
import type { InstallDraft, InstallForm } from "../../../../pkg/consoleapi/install.ts";
import type { PackageDetails } from "../../../../pkg/consoleapi/packages.ts";
import { FieldHint } from "../../components/FieldHint.tsx";
import { installText as t } from "../../text/install.ts";

const LATER = ">=";

/** Version, channel, name, namespace and approval of an installation. */
export function InstallFields({
  details,
  form,
  onChange,
  draft,
}: {
  readonly details: PackageDetails;
  readonly form: InstallForm;
  readonly onChange: (fields: Partial<InstallForm>) => void;
  readonly draft: InstallDraft | undefined;
}): ReactElement {
  const id = useId();
  const { package: name, channels, versions, catalog, alsoIn, suggestedNamespace } = details;
  const range = form.range ?? "";
  const later = range.startsWith(LATER);
  const version = later ? range.slice(LATER.length) : range;
  const known = [...new Set(versions.flatMap((one) => one.version ?? []))];
  return (
    <Form onSubmit={(event) => event.preventDefault()}>
      <FormSection title={t.versionTitle} titleElement="h2">
        <FormGroup label={t.version} fieldId={`${id}-version`}>
          <FormSelect
            id={`${id}-version`}
            value={known.includes(version) ? version : ""}
            onChange={(_event, value) => onChange({ range: value === "" ? "" : later ? `${LATER}${value}` : value })}
          >
            <FormSelectOption value="" label={t.anyVersion} />
            {known.map((one) => (
              <FormSelectOption key={one} value={one} label={one} />
            ))}
          </FormSelect>
          <Checkbox
            id={`${id}-later`}
            label={t.later}
            isDisabled={!known.includes(version)}
            isChecked={later || version === ""}
            onChange={(_event, is) => onChange({ range: is ? `${LATER}${version}` : version })}
          />
        </FormGroup>
        <FormGroup label={t.range} fieldId={`${id}-range`}>
          <TextInput id={`${id}-range`} value={range} maxLength={64} onChange={(_event, value) => onChange({ range: value })} />
          <FieldHint text={t.rangeHint} />
        </FormGroup>
        <FormGroup label={t.channel} fieldId={`${id}-channel`}>
          <FormSelect id={`${id}-channel`} value={form.channel ?? ""} onChange={(_event, value) => onChange({ channel: value })}>
            <FormSelectOption value="" label={t.anyChannel} />
            {channels.map((one) => (
              <FormSelectOption key={one.name} value={one.name} label={one.name} />
            ))}
          </FormSelect>
        </FormGroup>
        {alsoIn.length > 0 && (
          <FormGroup label={t.catalog} fieldId={`${id}-catalog`}>
            <FormSelect id={`${id}-catalog`} value={form.catalog ?? ""} onChange={(_event, value) => onChange({ catalog: value })}>
              {[catalog, ...alsoIn.map((one) => one.catalog)].map((one) => (
                <FormSelectOption key={one} value={one} label={one} />
              ))}
            </FormSelect>
          </FormGroup>
        )}
      </FormSection>
      <FormSection title={t.place} titleElement="h2">
        <FormGroup label={t.name} fieldId={`${id}-name`}>
          <TextInput
            id={`${id}-name`}
            value={form.name ?? ""}
            placeholder={name}
            maxLength={253}
            onChange={(_event, value) => onChange({ name: value })}
          />
        </FormGroup>
        <FormGroup label={t.namespace} fieldId={`${id}-namespace`}>
          <TextInput
            id={`${id}-namespace`}
            value={form.namespace ?? ""}
            placeholder={suggestedNamespace}
            maxLength={63}
            onChange={(_event, value) => onChange({ namespace: value })}
          />
          <FieldHint text={t.namespaceHint(suggestedNamespace)} />
        </FormGroup>
        {draft?.permissionSource === "managed" && (
          <FormGroup label={t.approval} fieldId={`${id}-approval`}>
            <FormSelect
              id={`${id}-approval`}
              value={form.approval ?? "Automatic"}
              onChange={(_event, value) => onChange({ approval: value === "Manual" ? "Manual" : "Automatic" })}
            >
              <FormSelectOption value="Automatic" label={t.automatic} />
              <FormSelectOption value="Manual" label={t.manual} />
            </FormSelect>
          </FormGroup>
        )}
      </FormSection>
    </Form>
  );
}
