import { copy } from '../copy-button.tsx'
import { clockTime, duration } from '../format.ts'
import { JsonTree } from '../json/json-tree.tsx'
import { JsonView } from '../json/json-view.tsx'
import { curlOf } from './curl.ts'
import type { Asked, Exchange } from './exchanges.ts'
import { Frames } from './frames.tsx'
import { Fault, failureWords } from './head.tsx'
import { Section } from './list.tsx'

/** The exact requests of a round and what came back. */
export function ExchangeList({ asked, goesOn }: { readonly asked: Asked; readonly goesOn: boolean }) {
  const { exchanges, problem, again } = asked
  const words = problem ?? stateOf(exchanges, goesOn)
  return (
    <Section title="Requests">
      {words && (
        <p class="quiet">
          {words}{' '}
          {(goesOn || problem) && (
            <button type="button" onClick={again}>
              Refresh
            </button>
          )}
        </p>
      )}
      {exchanges?.map((exchange) => (
        <ExchangeView key={exchange.attempt} exchange={exchange} />
      ))}
    </Section>
  )
}

function stateOf(exchanges: Asked['exchanges'], goesOn: boolean): string {
  if (!exchanges) return 'They are being fetched.'
  if (goesOn) return 'The answer still arrives.'
  if (exchanges.length > 0) return ''
  return 'None is kept. The process that sent it kept it only in memory, and is gone or has forgotten it.'
}

function ExchangeView({ exchange }: { readonly exchange: Exchange }) {
  const { attempt, model, provider, at, ms, error, wire, request } = exchange
  const title = `Attempt ${attempt}`
  const state = ms === undefined ? 'goes on' : `took ${duration(ms)}`
  return (
    <article aria-label={title}>
      <p>{`${title}, ${model} of ${provider}, at ${clockTime(at)}, ${state}`}</p>
      <Fault text={failureWords(error)} />
      {wire.map((one, place) => (
        <WireView key={place} wire={one} />
      ))}
      {wire.length === 0 && (
        <JsonView label="Nothing went over HTTP. What the model was asked" value={request} />
      )}
    </article>
  )
}

/** One request and its answer, as they went over the wire. */
function WireView({ wire }: { readonly wire: Exchange['wire'][number] }) {
  const { url, headers, body, status, answerHeaders, answer = '', cut } = wire
  // By its look.
  const isStream = /^(event|data|id|retry|):/.test(answer)
  return (
    <>
      <p class="mono">
        {body ? 'POST' : 'GET'} {url} <b>{status ?? 'no answer'}</b>
      </p>
      {cut && <p class="quiet">It was longer than is kept: only the beginning is here.</p>}
      <JsonTree name="Headers of the request" value={headers} open={0} />
      <JsonView label="Request body" text={body} open={1}>
        <button type="button" class="plain" onClick={() => copy(curlOf(wire))}>
          Copy as curl
        </button>
      </JsonView>
      <JsonTree name="Headers of the answer" value={answerHeaders ?? {}} open={0} />
      {answer && (
        <JsonView
          label="Answer"
          text={answer}
          {...(isStream && { first: 'Frames', views: { Frames: () => <Frames text={answer} /> } })}
        />
      )}
    </>
  )
}
