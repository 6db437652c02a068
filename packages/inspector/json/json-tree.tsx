import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { number } from '../format.ts'
import { Disclosure } from './disclosure.tsx'
import './json.css'
import { partsOf } from './parts.ts'
import { preview } from './preview.ts'
import { RawText } from './raw-text.tsx'
import { oneLine, visible } from './visible.ts'

/** Longer strings are expandable. */
const longString = 300

export interface JsonTreeProps {
  readonly name?: string
  readonly value: unknown
  /** How many levels are initially open. */
  readonly open?: number
}

/** JSON of any size: large objects and arrays are split into expandable ranges. */
export function JsonTree({ name = '', value, open = 1 }: JsonTreeProps) {
  const keys = useMemo(() => (typeof value === 'object' && value ? Object.keys(value) : []), [value])
  const line = (text: string, type: string) => (
    <>
      {name && <span class="json-name">{oneLine(name, 80)}: </span>}
      <span class={`json-${type}`}>{text}</span>
    </>
  )
  if (keys.length > 0)
    return (
      <Disclosure line={line(preview(value), 'object')} open={open > 0}>
        {() => <Values of={value as Values} keys={keys} open={open - 1} />}
      </Disclosure>
    )
  if (typeof value !== 'string') return <Leaf>{line(preview(value), typeof value)}</Leaf>
  if (value.length <= longString) return <Leaf>{line(`"${visible(value)}"`, 'string')}</Leaf>
  return (
    <Disclosure line={line(`"${oneLine(value, 80)}" ${number(value.length)} characters`, 'string')}>
      {() => <RawText text={value} label={name} />}
    </Disclosure>
  )
}

const Leaf = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="json-leaf">{children}</div>
)

type Values = Readonly<Record<string, unknown>>

interface ValuesProps {
  readonly of: Values
  readonly keys: readonly string[]
  readonly open: number
}

function Values({ of, keys, open }: ValuesProps) {
  return (
    <div class="json-values">
      {partsOf(keys).map((part) => {
        const [first = ''] = part
        if (part.length === 1) return <JsonTree key={first} name={first} value={of[first]} open={open} />
        return (
          <Disclosure key={first} line={`${first} … ${part.at(-1)}`}>
            {() => <Values of={of} keys={part} open={0} />}
          </Disclosure>
        )
      })}
    </div>
  )
}
