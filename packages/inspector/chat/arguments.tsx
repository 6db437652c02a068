import { visible } from '../json/visible.ts'
import { LongText } from './long-text.tsx'
import { isCode } from './words.ts'

export interface ArgumentsProps {
  readonly input: unknown
  /** Whether a user is about to allow them: all of it is shown, short values as a list. */
  readonly isAsked?: boolean
}

/** The arguments of a call. Code is shown as code, with its line breaks. */
export function Arguments({ input, isAsked = false }: ArgumentsProps) {
  if (!(input instanceof Object) || Array.isArray(input))
    return input === undefined ? null : <LongText value={input} label="Input" />
  const entries = Object.entries(input)
  const isBox = ([key, value]: [string, unknown]) => isCode(key, value) || (isAsked && !isLine(value))
  const boxes = entries.filter(isBox)
  const rest = entries.filter((entry) => !isBox(entry))
  return (
    <>
      {rest.length > 0 &&
        (isAsked ? (
          <dl class="chat-arguments">
            {rest.map(([key, value]) => (
              <div key={key}>
                <dt>{visible(key)}</dt>
                <dd>{value === '' ? '""' : visible(String(value))}</dd>
              </div>
            ))}
          </dl>
        ) : (
          <LongText value={Object.fromEntries(rest)} label="Input" />
        ))}
      {boxes.map(([key, value]) => (
        <LongText
          key={key}
          value={value}
          label={visible(key)}
          isNamed={entries.length > 1}
          isWhole={isAsked}
        />
      ))}
    </>
  )
}

const maxLine = 300

/** Whether a value can be an entry of the list. Objects and long text are boxes. */
function isLine(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= maxLine && !/[\r\n]/.test(value)
  return !(value instanceof Object)
}
