import type { CallView } from 'millrace/view'
import { useMemo } from 'preact/hooks'
import { stateLabel } from '../chat/call-state.ts'
import { outcomeLabels } from '../chat/strings.ts'
import { Items, Section } from '../detail/list.tsx'
import { difference, isUsed, measured, measures } from '../detail/measures.ts'
import { visible } from '../json/visible.ts'
import './compare.css'
import type { Side } from './sides.ts'
import { answerOf, argumentDiff, argumentsOf, figuresOf, matchedCalls, modelsOf } from './sides.ts'
import type { Piece, Step } from './word-diff.ts'
import { wordDiff } from './word-diff.ts'

export interface ComparisonProps {
  readonly before: Side
  readonly after: Side
  /** The current time, for a run that has not ended. */
  readonly at: number
  /** Whether both have ended. Until then only numbers are compared. */
  readonly isSettled?: boolean
}

/** Two runs side by side: numbers with their differences, the text, and the calls. */
export function Comparison({ before, after, at, isSettled = true }: ComparisonProps) {
  return (
    <>
      <Section title="Numbers">
        <NumbersTable before={before} after={after} at={at} />
      </Section>
      {isSettled && <ContentDiff before={before} after={after} />}
    </>
  )
}

function ContentDiff({ before, after }: Pick<ComparisonProps, 'before' | 'after'>) {
  const [text, calls] = useMemo(
    () => [wordDiff(answerOf(before), answerOf(after)), matchedCalls(before, after)],
    [before.run, before.run.version, before.round, after.run, after.run.version, after.round],
  )
  return (
    <>
      <Section title="Text">
        {text.length === 0 ? <p class="quiet">Neither has written text.</p> : <Difference pieces={text} />}
      </Section>
      <Section title="Calls">
        {calls.length === 0 && <p class="quiet">Neither has called a tool.</p>}
        <Items items={calls}>{(step) => <CallPair step={step} labels={[before.label, after.label]} />}</Items>
      </Section>
    </>
  )
}

function NumbersTable({ before, after, at }: ComparisonProps) {
  const [one, other] = [figuresOf(before, at), figuresOf(after, at)]
  // What neither has is left out.
  const shown = measures.filter((measure) => isUsed(measure, one) || isUsed(measure, other))
  const words = [
    ['Outcome', outcomeOf(before), outcomeOf(after)],
    ['Model', modelsOf(before), modelsOf(after)],
  ] as const
  return (
    <table class="detail-table compare-table" aria-label="Numbers of both">
      <thead>
        <tr>
          <td />
          {[before.label, after.label, 'Difference'].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {words.map(([label, ...values]) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>{values[0]}</td>
            <td>{values[1]}</td>
            <td class="quiet">{values[0] === values[1] ? 'same' : 'different'}</td>
          </tr>
        ))}
        {shown.map((measure) => (
          <tr key={measure.label}>
            <th scope="row">{measure.label}</th>
            <td class="detail-number">{measured(measure, one)}</td>
            <td class="detail-number">{measured(measure, other)}</td>
            <td class="detail-number quiet">{difference(measure, one, other) ?? '–'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const outcomeOf = ({ run: { outcome } }: Side) => (outcome ? outcomeLabels[outcome] : 'Running')

/** A text with what was removed and added, not marked by color alone. */
function Difference({ pieces }: { readonly pieces: readonly Piece[] }) {
  const isSame = pieces.every(({ kind }) => kind === 'same')
  return (
    <>
      {isSame && <p class="quiet">The same in both.</p>}
      <div class="compare-text">
        {pieces.map(({ kind, text }, place) => {
          const Tag = kind === 'removed' ? 'del' : kind === 'added' ? 'ins' : 'span'
          return <Tag key={place}>{visible(text)}</Tag>
        })}
      </div>
    </>
  )
}

interface CallPairProps {
  readonly step: Step<CallView>
  readonly labels: readonly [string, string]
}

function CallPair({ step: { before, after }, labels }: CallPairProps) {
  const call = after ?? before
  if (!call) return null
  if (!before || !after)
    return (
      <>
        <code>{call.name}</code> only in {labels[before ? 0 : 1]}: {stateLabel(call)}
        <code class="compare-same">{visible(argumentsOf(call))}</code>
      </>
    )
  const changes = argumentDiff(before, after)
  const [one, other] = [stateLabel(before), stateLabel(after)]
  return (
    <>
      <code>{call.name}</code> {changes ? 'different arguments' : 'same arguments'},{' '}
      {one === other ? one : `${one} → ${other}`}
      {changes ? (
        <Difference pieces={changes} />
      ) : (
        <code class="compare-same">{visible(argumentsOf(call))}</code>
      )}
    </>
  )
}
