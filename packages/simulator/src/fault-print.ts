import { isObject } from 'millrace/internal'
import { checkFaults } from './fault-check.ts'
import type { Fault, Place } from './faults.ts'

/**
 * A plan as text, one fault a line: what it is, as it would be written in a program, and what it does, as a comment. The lines
 * can be put between the brackets of a list as they are.
 */
export function printFaults(plan: readonly Fault[]): string {
  checkFaults(plan, 'printFaults')
  return plan.map((fault) => `${literal(fault)}, // ${whose(fault)} ${deed(fault)}`).join('\n')
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
  // JSON's escapes are JavaScript's too; only the quotes are the other way about.
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

const whose = ({ request }: Fault) => (request === undefined ? 'every request' : `request ${request}`)

function deed(fault: Fault): string {
  switch (fault.kind) {
    case 'refuse':
      return 'is refused'
    case 'reset':
      return `is reset ${placed(fault.at)}`
    case 'stall':
      return `stalls ${placed(fault.at)}`
    case 'end':
      return `ends ${placed(fault.at)}`
    case 'pings':
      return `gets nothing but pings, beginning ${placed(fault.at)}`
    case 'chunks':
      return fault.bytes === 'all'
        ? 'is answered in one piece'
        : `is answered in pieces of ${[fault.bytes].flat().join(', ')} bytes`
    case 'duplicate':
      return `gets event ${fault.event} twice`
    case 'reorder':
      return `gets event ${fault.event} after the one behind it`
    case 'unknown-event':
      return `gets an event of an unknown type before event ${fault.event}`
    case 'unknown-fields':
      return 'gets unknown fields in every event'
    case 'unknown-block':
      return 'gets a block of an unknown type'
    case 'oversize':
      return `gets ${fault.bytes} bytes too many in event ${fault.event}`
    case 'malformed':
      return `gets no JSON in event ${fault.event}`
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
      return 'is told no usage'
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
      return 'has its background response forgotten'
    case 'sse':
      return 'gets its events in another dress'
  }
}

function placed(at: Place): string {
  if (at === 'before-headers') return 'before the headers'
  if (at === 'after-headers') return 'after the headers'
  const { event, byte = 0 } = at
  if (byte === 'utf8') return `inside a character of event ${event} or later`
  if (byte === 'escape') return `inside an escape of event ${event} or later`
  return byte === 0 ? `before event ${event}` : `at byte ${byte} of event ${event}`
}
