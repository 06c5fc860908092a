import "./filters.css";
import { Badge, MenuToggle, Select, SelectList, SelectOption } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";

/** An option of a menu. */
export interface FilterOption {
  readonly value: string;
  readonly label: string;
  /** Number of rows with the value. */
  readonly count?: number;
}

/** A menu of options of which the user may select several, such as the values of a filter or the columns of a table. */
export function FilterMenu({
  label,
  options,
  selected,
  onChange,
  isCounted = true,
}: {
  readonly label: string;
  readonly options: readonly FilterOption[];
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  /** Whether the button shows the number of selected options. */
  readonly isCounted?: boolean;
}): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const change = (value: string): void =>
    onChange(selected.includes(value) ? selected.filter((one) => one !== value) : [...selected, value]);
  return (
    <Select
      role="menu"
      isOpen={isOpen}
      onOpenChange={setOpen}
      onSelect={(_event, value) => change(String(value))}
      isScrollable
      shouldFocusFirstItemOnOpen
      maxMenuHeight="24rem"
      popperProps={{ preventOverflow: true }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          isExpanded={isOpen}
          isDisabled={options.length === 0}
          onClick={() => setOpen(!isOpen)}
          badge={isCounted && selected.length > 0 ? <Badge isRead>{selected.length}</Badge> : undefined}
        >
          {label}
        </MenuToggle>
      )}
    >
      <SelectList aria-label={label}>
        {options.map(({ value, label: name, count }) => (
          <SelectOption key={value} value={value} hasCheckbox isSelected={selected.includes(value)}>
            <span className="olm-filter-option">
              <bdi className="olm-break">{name}</bdi>
              {count !== undefined && <span className="olm-filter-count">{count}</span>}
            </span>
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  );
}
