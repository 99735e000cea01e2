(** * The central statements, closed

    Each theorem here stands alone: all that it assumes is before its arrow, and the mechanism is written out, not
    named, as far as one line can hold it. Its proof is a reference to the file of its subject; Coq checks that this is
    what was proved there. What is still to be looked up: [gate mu closed step n] (gate.v) draws rho from [mu], then
    asks up to [n] questions until [closed] says so; [laplace a] and [geometric a] (laplace.v, geometric.v) have the
    masses (1-e^-a)/(1+e^-a) e^-a|z|, and (1-e^-a) e^-az for z >= 0.

    In all of them q and q' are the answers on two neighbours, and the question after the answers [h] may be any; T is
    public. "Private" is said of events: for every set E of outcomes, P[E] <= e^eps P'[E].

    Gates ([true] is ABOVE; c is the cutoff, n the most questions, s is 1 where all answers move one way, else 2):
    - [summary_below]: BELOW l times costs eps1, for every l, with any query noise or none (Lemma 1 of the paper).
    - [summary_gate]: the gate of the paper (Alg. 7), rho of scale Delta/eps1, nu of scale s c Delta/eps2, is
      (eps1 + eps2)-DP, and a whole law.
    - [summary_gap]: so is the gate with one-sided noise that says with each ABOVE by how much, kappa being public.
    - [summary_two_sided]: so is the gate with Laplace noise that stays open until both answers were given c times.

    Selection (of a finite set of items; one person moves each score by at most Delta):
    - [summary_peeling]: c draws without replacement, each proportional to e^(eps q/(s c Delta)), are eps-DP.
    - [summary_subset]: a set S of c items, drawn in proportion to e^(-eps loss(S)/(2 s Delta)), loss the highest score
      outside less the lowest inside, is eps-DP.
    - [summary_noisy]: the c largest scores after Laplace noise of scale min(s c, m) D/eps, where one person moves at
      most m scores by at most D, are eps-DP.

    Ledger (a machine with the transitions of the code, ledger.v):
    - [summary_budget]: after any events what is realised and reserved is within the budget, and all that has left
      costs at most that.
    - [summary_ledger]: all that gates say together, of one bit or with gaps, opened and asked as the ledger of budget
      B lets them be, is B-DP. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy laplace geometric gate laplace_gate standard_gate transcripts gap exponential_gap.
From Sparsegate Require Import two_sided_gate exponential_mechanism peeling subset noisy_scores noisy_selection.
From Sparsegate Require side_by_side metered_rows ledger ledger_rows ledger_gap_rows.
Local Open Scope ring_scope.

Theorem summary_below (R : realType) (closed : seq bool -> bool) (Delta n l : nat) (eps1 : R)
    (nu : seq bool -> {distr int / R}) (T q q' : seq bool -> int) :
  (0 < Delta)%N -> 0 < eps1 -> (forall h, `|q' h - q h| <= Delta%:Z) ->
  let alg q := gate (laplace (eps1 / Delta%:R)) closed
    (fun h rho => \dlet_(x <- nu h) dunit (T h + rho <= q h + x)) n in
  alg q (nseq l false) <= expR eps1 * alg q' (nseq l false).
Proof. by move=> D0 e0 near_q; apply: all_below_costs_eps1. Qed.

Theorem summary_gate (R : realType) (monotonic : bool) (c Delta n : nat) (eps1 eps2 : R) (T q q' : seq bool -> int) :
  (0 < c)%N -> (0 < Delta)%N -> 0 < eps1 -> 0 < eps2 -> (forall h, `|q' h - q h| <= Delta%:Z) ->
  (monotonic -> (forall h, q h <= q' h) \/ (forall h, q' h <= q h)) ->
  let s := if monotonic then 1%N else 2%N in
  let alg q := gate (laplace (eps1 / Delta%:R)) (fun h => (c <= count id h)%N)
    (fun h rho => \dlet_(nu <- laplace (eps2 / (s * c)%:R / Delta%:R)) dunit (T h + rho <= q h + nu)) n in
  psum (alg q) = 1 /\ (forall E, \P_[alg q] E <= expR (eps1 + eps2) * \P_[alg q'] E).
Proof.
move=> c0 D0 e10 e20 near_q one s alg; split.
  by apply: (standard_gate_sums_to_one (eps2 := eps2)) => //; rewrite /s; case: (monotonic).
apply/within_events; rewrite /alg /s {alg s}; case: monotonic one => one.
  by apply: monotonic_gate_is_private => //; apply: one.
exact: standard_gate_is_private.
Qed.

Theorem summary_gap (R : realType) (monotonic : bool) (c Delta n : nat) (kappa : int) (eps1 eps2 : R)
    (T q q' : seq (option int) -> int) :
  (0 < c)%N -> (0 < Delta)%N -> 0 < eps1 -> 0 < eps2 -> (forall h, `|q' h - q h| <= Delta%:Z) ->
  (monotonic -> (forall h, q h <= q' h) \/ (forall h, q' h <= q h)) ->
  let s := if monotonic then 1%N else 2%N in
  let alg q := gate (geometric (eps1 / Delta%:R)) (fun h => (c <= count isSome h)%N)
    (fun h rho => \dlet_(nu <- geometric (eps2 / (s * c)%:R / Delta%:R))
       let g := q h + nu - T h - rho - kappa in dunit (if 0 <= g then Some g else None)) n in
  psum (alg q) = 1 /\ (forall E, \P_[alg q] E <= expR (eps1 + eps2) * \P_[alg q'] E).
Proof.
move=> c0 D0 e10 e20 near_q one s alg; have s0 : (0 < s)%N by rewrite /s; case: (monotonic).
split; first by apply: exponential_gap_gate_sums_to_one; rewrite // divr_gt0 // ltr0n muln_gt0 s0.
apply/within_events; exact: (exponential_gap_is_free T kappa n D0 e10 e20 c0 (conj near_q one)).
Qed.

Theorem summary_two_sided (R : realType) (monotonic : bool) (c Delta n : nat) (eps1 eps2 : R)
    (T q q' : seq bool -> int) :
  (0 < c)%N -> (0 < Delta)%N -> 0 < eps1 -> 0 < eps2 -> (forall h, `|q' h - q h| <= Delta%:Z) ->
  (monotonic -> (forall h, q h <= q' h) \/ (forall h, q' h <= q h)) ->
  let s := if monotonic then 1%N else 2%N in
  let alg q := gate (laplace (eps1 / Delta%:R)) (fun h => (c <= minn (count negb h) (count id h))%N)
    (fun h rho => \dlet_(nu <- laplace (eps2 / (s * c)%:R / Delta%:R)) dunit (T h + rho <= q h + nu)) n in
  psum (alg q) = 1 /\ (forall E, \P_[alg q] E <= expR (eps1 + eps2) * \P_[alg q'] E).
Proof.
move=> c0 D0 e10 e20 near_q one s alg; split.
  exact: (two_sided_gate_sums_to_one T n D0 e10 monotonic q e20 c0).
apply/within_events; exact: (two_sided_gate_is_private T n D0 e10 e20 c0 (conj near_q one)).
Qed.

Theorem summary_peeling (R : realType) (I : finType) (monotonic : bool) (c : nat) (eps Delta : R) (q q' : I -> R) :
  (0 < c)%N -> (c <= #|I|)%N -> 0 <= eps -> 0 < Delta ->
  (if monotonic then (forall i, q i <= q' i <= q i + Delta) \/ (forall i, q' i <= q i <= q' i + Delta)
   else forall i, `|q i - q' i| <= Delta) ->
  let s : R := if monotonic then 1 else 2 in
  let alg q := peel (eps / (s * c%:R * Delta)) q c [set: I] in
  psum (alg q) = 1 /\ (forall E, \P_[alg q] E <= expR eps * \P_[alg q'] E).
Proof.
move=> c0 le e0 D0 near_q s alg; split; first by apply: peeling_sums_to_one; rewrite cardsT.
apply/within_events; exact: (@peeling_is_private _ _ monotonic).
Qed.

Theorem summary_subset (R : realType) (I : finType) (monotonic : bool) (c : nat) (eps Delta : R) (q q' : I -> R) :
  (c <= #|I|)%N -> 0 <= eps -> 0 < Delta ->
  (if monotonic then (forall i, q i <= q' i <= q i + Delta) \/ (forall i, q' i <= q i <= q' i + Delta)
   else forall i, `|q i - q' i| <= Delta) ->
  let s : R := if monotonic then 1 else 2 in
  let alg (q : I -> R) :=
    exponential (eps / (s * 2 * Delta)) (fun S => - (highest q (~: S) - lowest q S)) [set S : {set I} | #|S| == c] in
  psum (alg q) = 1 /\ (forall E, \P_[alg q] E <= expR eps * \P_[alg q'] E).
Proof.
move=> le e0 D0 near_q s alg; split; first exact: subset_sums_to_one.
apply/within_events; exact: (@subset_is_private _ _ monotonic).
Qed.

Theorem summary_noisy (R : realType) (I : finType) (monotonic : bool) (m c : nat) (eps : R) (D : int)
    (q q' : {ffun I -> int}) :
  (0 < m)%N -> (0 < c)%N -> 0 < eps -> 0 < D -> (forall i, `|q' i - q i| <= D) ->
  (#|[pred i | q' i != q i]| <= m)%N -> (monotonic -> (forall i, q i <= q' i) \/ (forall i, q' i <= q i)) ->
  let scale : R := (Posz (minn (if monotonic then c else c.*2) m) * D)%:~R / eps in
  forall E, \P_[noisy_selection scale^-1 c q] E <= expR eps * \P_[noisy_selection scale^-1 c q'] E.
Proof.
move=> m0 c0 e0 D0 near_q most one scale; apply/within_events.
exact: (@noisy_selection_is_private _ _ _ D monotonic (Some m)).
Qed.

Theorem summary_budget (b : rat) (events : seq ledger.ledger_event) :
  0 <= b -> let s := ledger.run_ledger (ledger.create b) events in
  ledger.ledger_loss s <= ledger.spent s /\ ledger.spent s <= ledger.budget s.
Proof. by move=> b0 s; split; [exact: ledger.released_is_counted | exact: ledger.spent_within_budget]. Qed.

Theorem summary_ledger (R : realType) (B : rat) (n : nat)
    (most : metered_rows.row [choiceType of rat] -> option nat) (refund : metered_rows.row [choiceType of rat] -> bool) :
  0 <= B ->
  (forall lost act q q' T, (forall p, neighbours (metered_rows.monotonic p) (metered_rows.Delta p) (q p) (q' p)) ->
   let alg q := @ledger_rows.ledger_rows R most refund lost B act q T n in
   forall E, \P_[alg q] E <= expR (ratr B) * \P_[alg q'] E) /\
  (forall lost act q q' T, (forall p, neighbours (metered_rows.monotonic p) (metered_rows.Delta p) (q p) (q' p)) ->
   let alg q := @ledger_gap_rows.ledger_gap_rows R most refund lost B act q T n in
   forall E, \P_[alg q] E <= expR (ratr B) * \P_[alg q'] E).
Proof.
move=> B0; split=> lost act q q' T near_q alg; apply/within_events.
  exact: ledger_rows.ledger_rows_are_private.
exact: ledger_gap_rows.ledger_gap_rows_are_private.
Qed.
