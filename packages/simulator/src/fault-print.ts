import { isObject } from 'millrace/internal'
import { checkFaults } from './fault-check.ts'
import type { Fault, FaultPoint } from './faults.ts'

/**
 * Prints a plan, one fault per line: the fault as source code, and what it does as a comment. The
 * lines can be pasted into an array literal.
 */
export function printFaults(plan: readonly Fault[]): string {
  checkFaults(plan, 'printFaults')
  return plan.map((fault) => `${literal(fault)}, // ${target(fault)} ${describe(fault)}`).join('\n')
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    return `{ ${entries.map(([key, inner]) => `${keyOf(key)}: ${literal(inner)}`).join(', ')} }`
  }
  return typeof value === 'string' ? quoted(value) : String(value)
}

const keyOf = (key: string) => (/^[a-z_$][\w$]*$/i.test(key) ? key : quoted(key))

function quoted(value: string): string {
  // JSON's escapes are valid in JavaScript; only the quotes differ.
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

const target = ({ request }: Fault) => (request === undefined ? 'every request' : `request ${request}`)

function describe(fault: Fault): string {
  switch (fault.kind) {
    case 'refuse':
      return 'is refused'
    case 'reset':
      return `is reset ${pointText(fault.at)}`
    case 'stall':
      return `stalls ${pointText(fault.at)}`
    case 'end':
      return `ends ${pointText(fault.at)}`
    case 'pings':
      return `gets only pings, starting ${pointText(fault.at)}`
    case 'chunks':
      return fault.bytes === 'all'
        ? 'is answered in one piece'
        : `is answered in pieces of ${[fault.bytes].flat().join(', ')} bytes`
    case 'duplicate':
      return `gets event ${fault.event} twice`
    case 'reorder':
      return `gets event ${fault.event} after the next one`
    case 'unknown-event':
      return `gets an event of an unknown type before event ${fault.event}`
    case 'unknown-fields':
      return 'gets unknown fields in every event'
    case 'unknown-block':
      return 'gets a block of an unknown type'
    case 'oversize':
      return `gets ${fault.bytes} extra bytes in event ${fault.event}`
    case 'malformed':
      return `gets malformed JSON in event ${fault.event}`
    case 'error-frame':
      return `fails in the stream before event ${fault.event}`
    case 'status':
      return `fails with ${fault.status}`
    case 'html':
      return 'gets a web page'
    case 'content-type':
      return `is answered as ${fault.type.replace(/\s+/g, ' ')}`
    case 'arguments':
      return `gets ${fault.how} arguments in call ${fault.call}`
    case 'same-call-ids':
      return 'gets the same id for every call'
    case 'length-cut':
      return `reaches the output limit in call ${fault.call}`
    case 'no-usage':
      return 'gets no usage'
    case 'unclosed-call':
      return `gets half of call ${fault.call}, never closed`
    case 'empty':
      return fault.finish ? `gets no content, finish ${fault.finish}` : 'gets no content'
    case 'splice':
      return `gets a second answer${fault.start === false ? ', without its start,' : ''} in place of event ${fault.event} and the rest`
    case 'content-in-start':
      return 'gets all content in message_start'
    case 'custom-provider-calls':
      return "gets the provider's tool calls as custom_tool_call items"
    case 'no-item-done':
      return `gets no output_item.done for item ${fault.item}`
    case 'expired':
      return 'has its background response expire'
    case 'sse':
      return 'gets its events in another framing'
  }
}

function pointText(at: FaultPoint): string {
  if (at === 'before-headers') return 'before the headers'
  if (at === 'after-headers') return 'after the headers'
  const { event, byte = 0 } = at
  if (byte === 'utf8') return `inside a character of event ${event} or later`
  if (byte === 'escape') return `inside an escape of event ${event} or later`
  return byte === 0 ? `before event ${event}` : `at byte ${byte} of event ${event}`
}
