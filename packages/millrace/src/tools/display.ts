import type { CallDisplay } from '../protocol/index.ts'
import { isObject, toJson } from '../protocol/index.ts'
import type { Tool } from './tool.ts'

/** How the tool wants the call to be shown, for its event. A failure only costs the display. */
export function displayOf({ tool, value }: { tool: Tool; value: unknown }): { display?: CallDisplay } {
  try {
    const display = tool.display && toJson(tool.display(value as never))
    return isObject(display) ? { display } : {}
  } catch {
    return {}
  }
}
