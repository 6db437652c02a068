import type { ApprovalView, CallView, ToolResultEvent } from 'millrace/view'
import { decisionWords } from '../chat/approval.tsx'
import { ranMs, stateWords } from '../chat/call-phase.ts'
import { clockTime, duration } from '../format.ts'
import { JsonView } from '../json/json-view.tsx'
import { preview } from '../json/preview.ts'
import { visible } from '../json/visible.ts'
import type { Fact } from './head.tsx'
import { Fault, Head } from './head.tsx'
import { roundLink, runLink } from './links.tsx'
import { List, Section } from './list.tsx'

export interface CallDetailProps {
  readonly call: CallView
  /** The time up to which it has gone. */
  readonly at: number
}

export function CallDetail({ call, at }: CallDetailProps) {
  const { round, raw, problem, input, changed, result, provider, inner, attempts, progress, progressCount } =
    call
  return (
    <>
      <Head
        path={[runLink(round.run), roundLink(round)]}
        title={call.name}
        seq={call.seq}
        facts={[
          ['State', stateWords[call.state]],
          ...phases(call, at),
          ['Beside the model', result && `for ${duration(result.overlapMs)}`],
          ['Attempts', attempts > 1 && attempts],
          ['Rule', call.rule],
          ['Run by', provider && 'the provider'],
          ['Id', <code>{call.callId}</code>],
        ]}
      >
        <Fault text={problem} />
      </Head>
      <Section title="Arguments">
        {raw.chars > 0 && <JsonView label="As the model wrote them" first="Raw" text={raw.pieces.join('')} />}
        {input && problem === undefined && <JsonView label="As they were read" value={input} />}
        {changed && <JsonView label="What it was run with instead" value={changed} />}
      </Section>
      <List title="Decisions" items={call.approvals}>
        {decided}
      </List>
      <List title={`Progress, ${progress.length} of ${progressCount}`} items={progress}>
        {(data) => visible(typeof data === 'string' ? data : preview(data))}
      </List>
      <List title="Sub-agent" items={inner?.runs ?? []}>
        {(run) => [runLink(run), `${run.rounds.length} rounds, ${run.calls.length} calls`]}
      </List>
      {(result || provider) && (
        <Section title={result?.isError ? `Result: ${result.status}` : 'Result'}>
          {provider && <JsonView label="What the provider told" value={provider} />}
          {result?.output.map(partView('All of it'))}
          {result?.shown?.map(partView('What the model was shown'))}
        </Section>
      )}
    </>
  )
}

/** When it came how far, each from the end of the one before. */
function phases(call: CallView, at: number): Fact[] {
  const { begunAt, closedAt, startedAt, endedAt } = call
  return [
    ['Arguments', `${clockTime(begunAt)}, written in ${duration((closedAt ?? endedAt ?? at) - begunAt)}`],
    ['Waited', closedAt && duration((startedAt ?? endedAt ?? at) - closedAt)],
    ['Ran', startedAt && `${clockTime(startedAt)}, for ${duration(ranMs(call, at) ?? 0)}`],
    ['Ended', endedAt && clockTime(endedAt)],
  ]
}

function decided({ request, at, decision, decidedAt = at }: ApprovalView) {
  const because = (reason: string | undefined) => (reason ? `: ${visible(reason)}` : '')
  return (
    <>
      Asked at {clockTime(at)} for <code>{request.callId}</code>
      {because(request.reason)}.{' '}
      {decision
        ? `${decisionWords(decision)} after ${duration(decidedAt - at)}${because(decision.reason)}.`
        : 'Nobody has decided yet.'}
      {decision?.input && <JsonView label="Allowed with" value={decision.input} />}
    </>
  )
}

const partView = (label: string) => (part: ToolResultEvent['output'][number], place: number) => (
  <JsonView
    key={`${label} ${place}`}
    label={`${label}: ${part.type}`}
    {...(part.type === 'text' ? { text: part.text } : { value: part.type === 'json' ? part.value : part })}
  />
)
