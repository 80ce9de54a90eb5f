// Boxes that are moved, by the mouse or by arrows with Shift.
const ENOUGH = 4; // pixels: less is a click
const STEP = 10;
const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

export function movable(box: SVGElement, scale: () => number, moved: (dx: number, dy: number) => void): void {
  box.addEventListener("pointerdown", (down) => {
    if (down.button !== 0) return;
    let by: [number, number] | null = null;
    const move = (event: PointerEvent) => {
      const [dx, dy] = [event.clientX - down.clientX, event.clientY - down.clientY];
      if (!by && Math.hypot(dx, dy) < ENOUGH) return;
      box.setPointerCapture(event.pointerId);
      by = [dx / scale(), dy / scale()];
      box.setAttribute("transform", `translate(${by[0]} ${by[1]})`);
    };
    const up = () => {
      box.removeEventListener("pointermove", move);
      if (!by) return;
      // The click that ends it is none.
      box.addEventListener("click", (event) => event.stopImmediatePropagation(), { capture: true, once: true });
      const [dx, dy] = by;
      setTimeout(() => moved(dx, dy));
    };
    box.addEventListener("pointermove", move);
    box.addEventListener("pointerup", up, { once: true });
  });
  box.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? ARROWS[event.key] : undefined;
    if (!step) return;
    event.preventDefault();
    moved(...step);
  });
}
