import type { ComponentChildren } from 'preact'
import type { BandKind, Step } from './chart.ts'
import { gutter } from './use-view.ts'

/** About as wide as a letter is. */
const letter = 7

export interface BandsProps {
  readonly bands: readonly Step<BandKind>[]
  readonly xOf: (at: number) => number
  /** Where the axis ends. */
  readonly width: number
}

/** What runs through all lanes: round times, what is folded, when this page was away, where the run changed hands. */
export function Bands({ bands, xOf, width }: BandsProps) {
  const free = new Map<BandKind, number>()
  return (
    <div aria-hidden="true">
      {bands.map(({ key, kind, what, start, end }) => {
        const x = xOf(start)
        const long = what.length * letter
        // At the right edge it moves to the left, and where it would stand in the way of another it is left out.
        const place = Math.min(x, width - long)
        const fits = place >= (free.get(kind) ?? 0)
        if (fits) free.set(kind, place + long)
        return (
          <Band key={key} kind={kind} from={x} to={xOf(end)}>
            {fits && <span style={{ marginLeft: `${place - x}px` }}>{what}</span>}
          </Band>
        )
      })}
    </div>
  )
}

export interface BandProps {
  readonly kind: string
  readonly from: number
  readonly to?: number
  readonly children?: ComponentChildren
}

export function Band({ kind, from, to = from, children }: BandProps) {
  const style = { left: `${gutter + Math.min(from, to)}px`, width: `${Math.abs(to - from)}px` }
  return (
    <div class="timeline-band" data-kind={kind} style={style}>
      {children}
    </div>
  )
}
