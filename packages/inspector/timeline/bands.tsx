import type { ComponentChildren } from 'preact'
import type { BandKind, Step } from './chart.ts'
import { gutter } from './use-view.ts'

/** The approximate width of a letter. */
const letter = 7

export interface BandsProps {
  readonly bands: readonly Step<BandKind>[]
  readonly xOf: (at: number) => number
  /** The width of the axis. */
  readonly width: number
}

/** Bands across all lanes: ticks, folds, outages of this page, and resumes of the run. */
export function Bands({ bands, xOf, width }: BandsProps) {
  const free = new Map<BandKind, number>()
  return (
    <div aria-hidden="true">
      {bands.map(({ key, kind, what, start, end }) => {
        const x = xOf(start)
        const long = what.length * letter
        // A label at the right edge is moved left. A label that would overlap another is omitted.
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
