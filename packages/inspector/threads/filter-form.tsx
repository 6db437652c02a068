import type { ThreadFilters, ThreadStatus } from 'millrace/client'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useAgents } from '../chat/agents.ts'
import { outcomeLabels } from '../chat/strings.ts'
import './filter-form.css'
import { periods } from './filter-label.ts'
import { filterBy, filterNames, query, results, showAll } from './list.ts'
import { placeOf } from './place.ts'
import { outcomes, statuses } from './status.ts'

export interface FilterFormProps {
  readonly button: HTMLElement | null
  onClose(): void
}

interface ChoiceProps {
  readonly label: string
  readonly value: string | number | undefined
  readonly options: readonly (readonly [value: string | number, label: string])[]
  onChange(value: string): void
}

/** A popover with all filters. They apply at once. */
export function FilterForm({ button, onClose }: FilterFormProps) {
  const element = useRef<HTMLDivElement>(null)
  const agents = useAgents()
  const { status, agent, outcome, tool, error, minUsd, days } = query.value
  useLayoutEffect(() => {
    const form = element.current
    if (!form || !button) return
    form.showPopover()
    const place = placeOf(button.getBoundingClientRect(), form.getBoundingClientRect())
    form.style.left = `${place.left}px`
    form.style.top = `${place.top}px`
    form.querySelector('select')?.focus()
  }, [button])

  const tools = [...new Set(agents.flatMap(({ tools }) => tools))].sort()
  const codes = new Set(results.value?.threads.flatMap(({ error }) => error ?? []))
  return (
    <div
      ref={element}
      class="filter"
      role="dialog"
      aria-label="Filter threads"
      popover="auto"
      onToggle={(event) => {
        if ((event as unknown as ToggleEvent).newState === 'closed') onClose()
      }}
      onKeyDown={(event) => {
        // The popover closes by itself. Escape must not stop a run.
        if (event.key === 'Escape') event.stopPropagation()
      }}
    >
      <Choice
        label="Status"
        value={status}
        options={Object.entries(statuses).map(([name, { label }]) => [name, label])}
        onChange={(value) => filterBy('status', value as ThreadStatus)}
      />
      <Choice
        label="Outcome"
        value={outcome}
        options={outcomes.map((name) => [name, outcomeLabels[name]])}
        onChange={(value) => filterBy('outcome', value as NonNullable<ThreadFilters['outcome']>)}
      />
      <Choice
        label="Changed"
        value={days}
        options={periods.map(({ days, label }) => [days, label])}
        onChange={(value) => filterBy('days', Number(value))}
      />
      <Choice
        label="Agent"
        value={agent}
        options={agents.map(({ name }) => [name, name])}
        onChange={(value) => filterBy('agent', value)}
      />
      <Choice
        label="Tool"
        value={tool}
        options={tools.map((name) => [name, name])}
        onChange={(value) => filterBy('tool', value)}
      />
      <label>
        Error code
        <input
          list="filter-codes"
          value={error ?? ''}
          onChange={({ currentTarget }) => filterBy('error', currentTarget.value.trim())}
        />
        <datalist id="filter-codes">
          {[...codes].map((code) => (
            <option key={code} value={code} />
          ))}
        </datalist>
      </label>
      <label>
        Cost at least ($)
        <input
          type="number"
          min="0"
          step="any"
          value={minUsd ?? ''}
          onChange={({ currentTarget }) => filterBy('minUsd', currentTarget.valueAsNumber || '')}
        />
      </label>
      <button type="button" disabled={filterNames(query.value).length === 0} onClick={showAll}>
        Clear filters
      </button>
    </div>
  )
}

function Choice({ label, value = '', options, onChange }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">Any</option>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
